import type { StubFinding } from '@svc/contracts'
import { extensionOf, SCANNED_EXTENSIONS } from '../engine/language.ts'
import { WINDOW_LINES } from '../engine/windows.ts'
import { stem } from '../engine/wiring.ts'
import { CODE_RULES as R } from '../rules/code-rules.ts'
import { type Rule, TEST_PATH } from '../rules/rule.ts'
import type { ScanResult } from '../worker/protocol.ts'

/** Source files directly in one folder from which it is reported. */
const MAX_FILES_PER_FOLDER = 40
const MAX_DUPLICATES = 500

/** Returns the findings of the rules that need all files: copies, modules without importers, crowded folders. */
export function projectFindings(results: readonly ScanResult[], isEnabled: (rule: string) => boolean): StubFinding[] {
  return [
    ...(isEnabled(R.duplicate.id) ? duplicates(results) : []),
    ...(isEnabled(R.unwired.id) ? unwired(results) : []),
    ...(isEnabled(R.sprawl.id) ? crowded(results) : [])
  ]
}

function duplicates(results: readonly ScanResult[]): StubFinding[] {
  const first = new Map<number, { readonly file: string; readonly line: number }>()
  const findings: StubFinding[] = []
  for (const { path, windows } of results) {
    /** Line after the last copy that was reported, per source file, so that a long copy is reported once. */
    let reportedTo = 0
    for (let at = 0; at < windows.length; at += 2) {
      const hash = windows[at] as number
      const line = windows[at + 1] as number
      const original = first.get(hash)
      if (original === undefined) {
        first.set(hash, { file: path, line })
        continue
      }
      const isSameBlock = original.file === path && Math.abs(original.line - line) < WINDOW_LINES
      if (isSameBlock || line < reportedTo) continue
      reportedTo = line + WINDOW_LINES
      if (findings.length < MAX_DUPLICATES)
        findings.push(
          finding(
            R.duplicate,
            path,
            line,
            `at least ${WINDOW_LINES} lines are the same as at ${original.file}:${original.line}`
          )
        )
    }
  }
  return findings
}

function unwired(results: readonly ScanResult[]): StubFinding[] {
  const mentioned = new Map<string, number>()
  for (const { wiring } of results)
    for (const name of wiring.mentions) mentioned.set(name, (mentioned.get(name) ?? 0) + 1)
  const findings: StubFinding[] = []
  for (const { path, wiring, state } of results) {
    if (state !== 'scanned' || wiring.isEntry) continue
    const language = SCANNED_EXTENSIONS[extensionOf(path)]?.[0]
    if (language === undefined || R.unwired.languages?.some(each => each === language) !== true) continue
    const name = stem(path)
    const own = wiring.mentions.includes(name) ? 1 : 0
    if ((mentioned.get(name) ?? 0) > own) continue
    findings.push(finding(R.unwired, path, 1, `no scanned file imports ${name}`))
  }
  return findings
}

function crowded(results: readonly ScanResult[]): StubFinding[] {
  const folders = new Map<string, string[]>()
  for (const { path } of results) {
    const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.'
    if (TEST_PATH.test(path)) continue
    const files = folders.get(folder)
    if (files === undefined) folders.set(folder, [path])
    else files.push(path)
  }
  return [...folders].flatMap(([folder, files]) =>
    files.length <= MAX_FILES_PER_FOLDER
      ? []
      : [
          finding(
            R.sprawl,
            files[0] as string,
            1,
            `${files.length} source files are directly in ${folder}; the limit is ${MAX_FILES_PER_FOLDER}`
          )
        ]
  )
}

function finding(rule: Rule, file: string, line: number, message: string): StubFinding {
  return {
    ruleId: rule.id,
    ruleName: rule.name,
    severity: rule.severity,
    file,
    line,
    column: 1,
    message,
    ...(rule.suggestion === undefined ? {} : { suggestion: rule.suggestion }),
    context: ''
  }
}
