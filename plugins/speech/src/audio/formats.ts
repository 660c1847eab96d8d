import { extname } from 'node:path'

/** The reader of a file, by file extension. */
export type Format = 'text' | 'wav' | 'converted'

const FORMATS: Readonly<Record<string, Format>> = {
  '.txt': 'text',
  '.md': 'text',
  '.wav': 'wav',
  ...Object.fromEntries(
    ['mp3', 'flac', 'ogg', 'oga', 'aac', 'm4a', 'opus', 'mp4', 'mkv', 'avi', 'webm', 'mov'].map(name => [
      `.${name}`,
      'converted' as const
    ])
  )
}

/** Null for an unsupported format. */
export function formatOf(path: string): Format | null {
  return FORMATS[extname(path).toLowerCase()] ?? null
}

export const READABLE = Object.keys(FORMATS).join(' ')
