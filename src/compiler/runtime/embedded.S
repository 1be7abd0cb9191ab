/* The guest runtime's bitcode and support object, as data of the compiler. Paths come from CMakeLists.txt. */
    .section .rodata
    .balign 16
    .globl tutti_guest_bitcode_begin, tutti_guest_bitcode_end
    .hidden tutti_guest_bitcode_begin, tutti_guest_bitcode_end
tutti_guest_bitcode_begin:
    .incbin TUTTI_BITCODE_FILE
tutti_guest_bitcode_end:
    .balign 16
    .globl tutti_support_object_begin, tutti_support_object_end
    .hidden tutti_support_object_begin, tutti_support_object_end
tutti_support_object_begin:
    .incbin TUTTI_SUPPORT_FILE
tutti_support_object_end:
    .section .note.GNU-stack, "", @progbits
