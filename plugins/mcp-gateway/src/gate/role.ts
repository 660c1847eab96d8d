/** Rights of a caller: all allowed tools, or those of the read role. */
export type Role = 'write' | 'read'
