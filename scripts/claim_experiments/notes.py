"""The notes whose statements are measured, and each statement in their own words; S4 reached us with its lines out of order."""

NOTES = {  # as the claims cite them, with the line: S1:227
    "S0": "Course notes without title or author: from Bahdanau's attention to the Transformer, with practicals in PyTorch; probably the "
          "attention module of dataflowr, Deep Learning DIY",
    "S1": "Attention is all you Need? Handwritten notes, without author",
    "S2": "Dimitrios Tanoglidis: Attention & Transformers: This short set of notes is all you need!",
    "S3": "Notes: Attention! Transformers! 7 September 2020, without author",
    "S4": "Arion Das: The Infamous Attention Mechanism in the Transformer Architecture, Towards AI, 2024",
}

WORDS = {
    "P6": "To ensure that the dot-products between query and key don't grow too large (and softmax gradient become too "
          "small) for large dk.",
    "P7": "They don't have to be smaller, this is an architecture choice to make the computation of multi-headed attention "
          "(mostly) constant.",
    "P8": "Compressing all the information into one hidden unit may cause loss of information, especially for long sequences.",
    "P9": "The input sequence was reversed. This reduced the distance between a word (in the first half) of the input "
          "sequence & it's corresponding output word.",
    "P10": "Deep LSTMs outperformed shallow LSTMs as they could recognize hierarchical patterns. So, a LSTM with 4 layers "
           "was chosen.",
    "P11": "The feed forward neural net meant a pretty complex mathematical formula using multiple parameters (to replicate the patterns), "
           "resulting in very slow computation. Dot products take much less time.",
    "P12": "The power of transformers [...] is that it can process a large number of sequence data in parallel, speeding "
           "up the process",
    "P13": "it would be difficult to train the RNNs due to long-term dependencies",
    "P21": "Clearly the word at this position will have the highest softmax score",
    "P22": "with weights being larger for input vectors that are more similar (=attends more to them)",
    "P23": "Attending to all source words is computationally expensive, hence limiting the alignment to a small context window.",
    "P24": "With this, we can write Bahdanau’s attention as: [...] keys = h_j, values = h_j, query = s_{i-1}, output = context",
    "P29": "Each ith input sequence element has a unique set of attention weights.",
    "P30": "we have two hidden states for each input sequence element. For example, h_F and h_B are 128-dimensional "
           "vectors, the concatenated hidden state h will consists of 256 elements.",
    "P31": "Unfortunately, self attention is capable of capturing any one of these perspectives. To overcome this problem, "
           "we use the concept of multi-head attention.",
    "P32": "This help retain some information about the original sequence.",
    "P33": "Layer normalization improves both the training time and the generalization performance of the transformer.",
    "P34": "current hidden decoder state helped in using more updated information, helping the output get adjusted more "
           "dynamically",
    "P35": "each α_ij is a real number so that we can display the matrix of α_ij's",
    "P37": "Note how their lengths, T & T', may differ.",
    "P38": "The elements of the position vector p_i can be learned [...] or set to have a specific form that encodes the "
           "position.",
    "P39": "It allows us to cater to both longer term and shorter-term dependencies, helping us capture the exact "
           "perspective being used.",
}
