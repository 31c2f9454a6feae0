/*
 * A library with code that no walk gets out of: it has no unwind rows, and uses the stack pointer and rbp for something
 * else. Python calls lose() through ctypes, Perl as a sub written in C. It never returns.
 */
char lost_room[1 << 16];

__asm__(
    ".text\n"
    ".globl lose\n"
    ".type lose, @function\n"
    "lose:\n"
    "	mov	lost_room@GOTPCREL(%rip), %rsp\n"
    "	add	$32768, %rsp\n"
    "	mov	$1, %ebp\n"
    "1:	add	$2, %rbp\n"
    "	jmp	1b\n"
    ".size lose, . - lose\n");
