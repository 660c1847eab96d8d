import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { inferenceErrors } from '../errors.ts'
import { fileError, fileMissing } from '../files.ts'

const EXTENSION = '.gguf'
/** Ten times the parts of the largest public models. */
const MAX_PARTS = 1000

/**
 * Returns the files of a GGUF model in order: `path` itself or the set to which it belongs, or the only model in the
 * folder `path`. Null if `path` is neither.
 *
 * Image encoders, whose names begin with `mmproj`, are not models. Throws `INF_RUN_DIR_FILE_MISSING` for a missing part
 * of a set, and `INF_RUN_DIR_MALFORMED` if a folder has several models.
 */
export async function findGguf(path: string): Promise<readonly string[] | null> {
  const found = await stat(path).catch(() => null)
  if (found?.isFile() === true && path.endsWith(EXTENSION)) return partsOf(path)
  if (found?.isDirectory() !== true) return null
  const names = await readdir(path).catch(error => Promise.reject(fileError(error, path)))
  const models = names.filter(name => name.endsWith(EXTENSION) && !name.startsWith('mmproj'))
  const [first] = models.sort()
  if (first === undefined) return null
  const parts = await partsOf(join(path, first))
  const other = models.find(name => !parts.includes(join(path, name)))
  if (other === undefined) return parts
  throw inferenceErrors.create(
    'INF_RUN_DIR_MALFORMED',
    `${path} contains several GGUF models, among them ${first} and ${other}`,
    { at: { file: path }, data: { file: path, offset: 0 }, hint: `Name one of them, for example ${join(path, first)}.` }
  )
}

/** Returns the files of a split set, such as `NAME-00001-of-00003.gguf`, or the file itself. */
async function partsOf(file: string): Promise<readonly string[]> {
  const [, stem, digits, total] = /^(.*-)(\d{5})-of-(\d{5})\.gguf$/.exec(basename(file)) ?? []
  if (stem === undefined || digits === undefined || total === undefined) return [file]
  const count = Number(total)
  if (count < 1 || count > MAX_PARTS || Number(digits) > count) return [file]
  const parts = Array.from({ length: count }, (_, index) =>
    join(dirname(file), `${stem}${String(index + 1).padStart(digits.length, '0')}-of-${total}${EXTENSION}`)
  )
  for (const part of parts) {
    const found = await stat(part).catch(() => null)
    if (found?.isFile() !== true) throw fileMissing(part, `Download all ${count} parts of the model into one folder.`)
  }
  return parts
}
