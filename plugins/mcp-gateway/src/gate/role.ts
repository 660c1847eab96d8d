/** What a caller may do: call every allowed tool, or those for readers. */
export type Role = 'write' | 'read'
