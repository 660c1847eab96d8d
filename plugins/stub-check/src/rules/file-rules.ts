import type { SourceFile } from '../engine/source-file.ts'
import { CODE_RULES as R } from './code-rules.ts'

/** Non-blank lines from which a file is reported, by severity. 500 is the hard limit. */
const SIZES = [
  { over: 500, severity: 'error' },
  { over: 400, severity: 'warning' },
  { over: 300, severity: 'info' }
] as const
const MAX_COLLECTED_FUNCTIONS = 10
const COLLECTION = /(?:^|\/)_?(?:utils?|helpers?|misc|common|stuff|shared)\.\w+$/i

/** Runs the rules that look at the file as a whole. */
export function runFileRules(file: SourceFile): void {
  if (file.applies(R.godObject) && !file.isTest) {
    const lines = countNonBlank(file.text)
    const size = SIZES.find(({ over }) => lines > over)
    if (size !== undefined) file.report(R.godObject, 0, `${lines} non-blank lines; the limit is 500`, size.severity)
  }
  if (file.applies(R.organization) && !file.isTest && COLLECTION.test(file.path)) {
    const exported = file.functions.filter(fact => fact.isExported && !fact.isMethod).length
    if (exported > MAX_COLLECTED_FUNCTIONS)
      file.report(
        R.organization,
        0,
        `${exported} exported functions in a file whose name names no subject; the limit is ${MAX_COLLECTED_FUNCTIONS}`
      )
  }
  const carriage = file.text.indexOf('\r\n')
  if (carriage >= 0 && file.applies(R.lineEndings)) {
    const isMixed = /(?<!\r)\n/.test(file.text)
    file.report(R.lineEndings, carriage, isMixed ? 'the file mixes CRLF and LF' : 'the lines end with CRLF')
  }
}

/** Number of lines that are not blank. */
function countNonBlank(text: string): number {
  let count = 0
  let isBlank = true
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 10) {
      if (!isBlank) count += 1
      isBlank = true
    } else if (code !== 32 && code !== 9 && code !== 13) isBlank = false
  }
  return isBlank ? count : count + 1
}
