# See guest_switch.h.
        .intel_syntax noprefix
        .text

        .globl tutti_guest_switch
        .hidden tutti_guest_switch
        .type tutti_guest_switch, @function
tutti_guest_switch:
        .cfi_startproc
        push rbp
        push rbx
        push r12
        push r13
        push r14
        push r15
        mov [rdi], rsp
        mov rsp, rsi
        .cfi_endproc

        .globl tutti_guest_resume
        .hidden tutti_guest_resume
        .type tutti_guest_resume, @function
tutti_guest_resume:
        pop r15
        pop r14
        pop r13
        pop r12
        pop rbx
        pop rbp
        ret
        .size tutti_guest_switch, . - tutti_guest_switch

        .globl tutti_guest_entry
        .hidden tutti_guest_entry
        .type tutti_guest_entry, @function
tutti_guest_entry:
        .cfi_startproc
        .cfi_undefined rip              # the outermost frame: unwinding ends here
        mov rdi, r12
        call r13
        ud2
        .cfi_endproc
        .size tutti_guest_entry, . - tutti_guest_entry

        # Entered by "return" from a signal handler, with the stack as it was at the interrupted instruction, less the 128
        # bytes of the red zone, less the pushed address of that instruction.
        .globl tutti_guest_preempted
        .hidden tutti_guest_preempted
        .type tutti_guest_preempted, @function
tutti_guest_preempted:
        .cfi_startproc
        .cfi_undefined rip
        pushfq
        push rax
        push rcx
        push rdx
        push rbx
        push rbp
        push rsi
        push rdi
        push r8
        push r9
        push r10
        push r11
        push r12
        push r13
        push r14
        push r15
        mov rbp, rsp
        cld
        sub rsp, 4096                   # the XSAVE area: at most 2,688 bytes for the state components below
        and rsp, -64
        xor eax, eax                    # its header must be zero where XSAVE does not write it
        mov [rsp + 512], rax
        mov [rsp + 520], rax
        mov [rsp + 528], rax
        mov [rsp + 536], rax
        mov [rsp + 544], rax
        mov [rsp + 552], rax
        mov [rsp + 560], rax
        mov [rsp + 568], rax
        mov eax, 0xe7                   # x87, SSE, AVX, AVX-512: what kernels use
        xor edx, edx
        xsave64 [rsp]
        fninit                          # from here on as a new thread, whatever the guest was in the middle of
        ldmxcsr [rip + .Lnew_thread_mxcsr]
        call tutti_guest_preempt
        mov eax, 0xe7
        xor edx, edx
        xrstor64 [rsp]
        mov rsp, rbp
        pop r15
        pop r14
        pop r13
        pop r12
        pop r11
        pop r10
        pop r9
        pop r8
        pop rdi
        pop rsi
        pop rbp
        pop rbx
        pop rdx
        pop rcx
        pop rax
        popfq
        ret 128
        .cfi_endproc
        .size tutti_guest_preempted, . - tutti_guest_preempted

        .section .rodata
        .balign 4
.Lnew_thread_mxcsr:
        .long 0x1f80                    # kNewThreadMxcsr

        .section .note.GNU-stack, "", @progbits
