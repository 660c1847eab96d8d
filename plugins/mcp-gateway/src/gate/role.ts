/** Rights of a caller: every allowed tool, or those for readers. */
export type Role = 'write' | 'read'
