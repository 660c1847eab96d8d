import { extname } from 'node:path'

/** How a file is read. `converted` needs ffmpeg. */
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

/** Returns the format of a file by its extension; null if unsupported. */
export function formatOf(path: string): Format | null {
  return FORMATS[extname(path).toLowerCase()] ?? null
}

export const READABLE = Object.keys(FORMATS).join(' ')
