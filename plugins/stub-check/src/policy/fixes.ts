import { randomBytes } from 'node:crypto'
import { lstat, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StubFinding } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { stubCheckErrors } from '../errors.ts'

/** Change of one line that keeps the meaning of the program. */
export interface Fix {
  readonly ruleId: string
  readonly file: string
  /** 0: the whole file. */
  readonly line: number
  readonly before: string
  readonly after: string
}

/** Replacements that never change what a program does, by rule. */
const REPLACEMENTS: Readonly<Record<string, readonly (readonly [pattern: RegExp, replacement: string])[]>> = {
  'deprecated-usage/python': [
    [/\b(log(?:ger|ging))\.warn\s*\(/g, '$1.warning('],
    [/\bassertEquals\s*\(/g, 'assertEqual('],
    [/\bcollections\.(Mapping|MutableMapping|Iterable|Callable|Sequence)\b/g, 'collections.abc.$1']
  ],
  'deprecated-usage/rust': [
    [/\.trim_left\s*\(\)/g, '.trim_start()'],
    [/\.trim_right\s*\(\)/g, '.trim_end()']
  ]
}
/** Comments that say nothing about the code; a line that holds only such a comment is removed. */
const REMOVABLE = 'victory-claim/premature'

/** Returns the fixes for findings. Files are read below `root`. */
export async function planFixes(root: string, findings: readonly StubFinding[]): Promise<readonly Fix[]> {
  const byFile = new Map<string, StubFinding[]>()
  for (const finding of findings) {
    const own = byFile.get(finding.file)
    if (own === undefined) byFile.set(finding.file, [finding])
    else own.push(finding)
  }
  const fixes: Fix[] = []
  for (const [file, own] of byFile) {
    if (!own.some(({ ruleId }) => isFixable(ruleId))) continue
    const text = await readFile(join(root, file), 'utf8').catch(() => null)
    if (text === null) continue
    const lines = text.split('\n')
    for (const { ruleId, line } of own) {
      if (ruleId === 'cross-platform/line-endings') {
        fixes.push({ ruleId, file, line: 0, before: 'CRLF', after: 'LF' })
        continue
      }
      const before = lines[line - 1]
      if (before === undefined) continue
      const after = fixedLine(ruleId, before)
      if (after !== before) fixes.push({ ruleId, file, line, before, after })
    }
  }
  return fixes
}

function isFixable(ruleId: string): boolean {
  return ruleId === 'cross-platform/line-endings' || ruleId === REMOVABLE || REPLACEMENTS[ruleId] !== undefined
}

function fixedLine(ruleId: string, line: string): string {
  if (ruleId === REMOVABLE) return /^\s*(?:\/\/|#)[^\n]*$/.test(line) ? '' : line
  let fixed = line
  for (const [pattern, replacement] of REPLACEMENTS[ruleId] ?? []) fixed = fixed.replace(pattern, replacement)
  return fixed
}

/**
 * Writes fixes, each file whole or not at all. Returns the number of written files. Throws `STB_FIX_REFUSED` for a file that
 * changed after the scan, that is not a regular file, or that cannot be written; files before it stay written.
 */
export async function applyFixes(root: string, fixes: readonly Fix[]): Promise<number> {
  const files = [...new Set(fixes.map(({ file }) => file))]
  for (const file of files) {
    const path = join(root, file)
    const refused = (reason: string) =>
      stubCheckErrors.create('STB_FIX_REFUSED', `${file}: ${reason}`, { hint: 'run the scan again' })
    const unreadable = (error: unknown) => {
      throw refused(`it cannot be read: ${errorMessage(error)}`)
    }
    if (!(await lstat(path).catch(unreadable)).isFile()) throw refused('it is not a regular file')
    const text = await readFile(path, 'utf8').catch(unreadable)
    const lines = text.split('\n')
    const own = fixes.filter(fix => fix.file === file)
    const removed = new Set<number>()
    for (const { line, before, after } of own) {
      if (line === 0) continue
      if (lines[line - 1] !== before) throw refused(`line ${line} changed after the scan`)
      lines[line - 1] = after
      if (after === '') removed.add(line - 1)
    }
    let fixed = lines.filter((_, at) => !removed.has(at)).join('\n')
    if (own.some(({ line }) => line === 0)) fixed = fixed.replaceAll('\r\n', '\n')
    await replaceFile(path, fixed).catch(error => {
      throw refused(`it cannot be written: ${errorMessage(error)}`)
    })
  }
  return files.length
}

async function replaceFile(path: string, text: string): Promise<void> {
  const { mode } = await stat(path)
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    await writeFile(temporary, text, { mode, flag: 'wx' })
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
