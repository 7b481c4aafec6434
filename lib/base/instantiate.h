// Templates over the type of numbers are compiled once for float and once for double, in their source.
#pragma once

#define HEED_INSTANTIATE(function)                    \
  template decltype(function<float>) function<float>; \
  template decltype(function<double>) function<double>;

#define HEED_INSTANTIATE_CLASS(name) \
  template class name<float>;        \
  template class name<double>;
