import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../replace-file.ts'

/** Crossref's schema has timestamps as doubles. Those of 17 digits differ by at least 4. */
const STEP = 10n

/**
 * Returns the next timestamp of a DOI: 17 digits, `YYYYMMDDhhmmssSSS` in UTC, above each earlier one from this folder
 * even if the clock was set back, also as a double. It is on the disk before it is returned.
 */
export async function nextTimestamp(folder: string, doi: string, now: number): Promise<string> {
  const file = join(folder, 'crossref-timestamps.json')
  const earlier = await read(file)
  const last = earlier[doi] ?? ''
  const current = new Date(now).toISOString().replace(/\D/g, '')
  const next = Number(current) > Number(last) ? current : (BigInt(last) + STEP).toString()
  await replaceFile(file, JSON.stringify({ ...earlier, [doi]: next }))
  return next
}

/** An unreadable file is like none: the clock decides, and Crossref refuses a timestamp that is too low. */
async function read(file: string): Promise<Readonly<Record<string, string>>> {
  try {
    const found: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (typeof found !== 'object' || found === null) return {}
    return Object.fromEntries(
      Object.entries(found).filter(([, value]) => typeof value === 'string' && /^\d{17}$/.test(value))
    )
  } catch {
    return {}
  }
}
