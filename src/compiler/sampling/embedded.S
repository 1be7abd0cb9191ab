/* The bitcode of texture.cc, as data of the compiler. The path comes from CMakeLists.txt. */
    .section .rodata
    .balign 16
    .globl tutti_sampling_bitcode_begin, tutti_sampling_bitcode_end
    .hidden tutti_sampling_bitcode_begin, tutti_sampling_bitcode_end
tutti_sampling_bitcode_begin:
    .incbin TUTTI_BITCODE_FILE
tutti_sampling_bitcode_end:
    .section .note.GNU-stack, "", @progbits
