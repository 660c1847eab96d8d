import type { Chunk } from './chunk.ts'
import type { SourceSymbol } from './outline.ts'

/** File as the walk found it. */
export interface FileStat {
  /** Relative to the project, with forward slashes. */
  readonly path: string
  readonly size: number
  readonly mtimeMs: number
}

export interface WalkRequest {
  readonly kind: 'walk'
  readonly root: string
  /** Relative to `root`; empty for the whole project. */
  readonly folder: string
  readonly maxFiles: number
  readonly skipDirs: readonly string[]
}

/** Asks whether paths belong to the index. */
export interface CheckRequest {
  readonly kind: 'check'
  readonly root: string
  readonly paths: readonly string[]
  readonly skipDirs: readonly string[]
}

export interface ReadRequest {
  readonly kind: 'read'
  readonly root: string
  readonly maxBytes: number
  readonly items: readonly ReadItem[]
  /** True to find the symbols of files that have the known hash, and nothing else. */
  readonly symbols?: boolean
}

export interface ReadItem {
  readonly path: string
  /** Hash of the content in the index; a file that still has it is not parsed. */
  readonly knownHash: string | null
}

export type IndexRequest = WalkRequest | CheckRequest | ReadRequest

/** Reasons why a file is not in the index. */
export const SKIP_REASONS = [
  'binary',
  'empty',
  'encrypted',
  'gone',
  'ignored',
  'link',
  'malformed',
  'no_text',
  'not_a_file',
  'not_utf8',
  'out_of_memory',
  'protected',
  'timed_out',
  'too_large',
  'too_many_pages',
  'too_much_text',
  'unreadable'
] as const
export type SkipReason = (typeof SKIP_REASONS)[number]

export interface WalkReply {
  readonly files: readonly FileStat[]
  /** Folders that were read, relative to the project; empty for the project itself. */
  readonly folders: readonly string[]
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>>
  /** True if there are more files than the limit. */
  readonly truncated: boolean
}

export type PathKind = 'file' | 'folder' | 'other'

export interface CheckReply {
  readonly kinds: readonly PathKind[]
  /** `null` where the path is no file of the index. */
  readonly stats: readonly (FileStat | null)[]
}

export interface ReadFile {
  readonly path: string
  /** `unchanged`: the content has the known hash. */
  readonly state: 'read' | 'unchanged' | 'skipped'
  readonly reason: SkipReason | null
  /** SHA-256 of the content in hexadecimal; empty if it was not read. */
  readonly hash: string
  readonly title: string
  readonly mimeType: string
  readonly chunks: readonly Chunk[]
  readonly symbols: readonly SourceSymbol[]
}

export interface ReadReply {
  readonly files: readonly ReadFile[]
}

export type IndexReply = WalkReply | CheckReply | ReadReply

export interface WorkerData {
  /**
   * Two Int32: a counter of steps, which the other thread reads to find a thread that hangs, and the index of the item
   * in work.
   */
  readonly progress: SharedArrayBuffer
}
