// Templates over the number type are instantiated once for float and once for double, in their source file.
#pragma once

#define HEED_INSTANTIATE(function)                    \
  template decltype(function<float>) function<float>; \
  template decltype(function<double>) function<double>;

#define HEED_INSTANTIATE_CLASS(name) \
  template class name<float>;        \
  template class name<double>;
