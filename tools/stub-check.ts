/**
 * Runs the stub check on the sources of this repository, and fails for findings that tools/stub-check-baseline.json does not
 * have. Scans in this thread from the sources, so that nothing must be built.
 *
 *   node --import tsx --conditions=svc-source tools/stub-check.ts [--update]
 *
 * `--update` removes findings from the baseline that are gone. It never adds any: a new finding is resolved, or allowed by a
 * comment `toestub-ignore(RULE) - reason` at its line.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Grammars, listFiles, scanFile, scanProject } from '../plugins/stub-check/src/index.ts'
import { compare, parseBaseline, printBaseline } from '../plugins/stub-check/src/policy/index.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BASELINE = fileURLToPath(new URL('stub-check-baseline.json', import.meta.url))
const MAX_LISTED = 20
/** Tests, measurements and examples contain what the rules look for on purpose. */
const EXCLUDED = ['**/test/**', 'bench/**', 'examples/**', 'tools/clients/**', 'tools/screenshots/**']

const grammars = await Grammars.open()
const signal = new AbortController().signal
const listing = await listFiles({
  projectRoot: ROOT,
  path: '.',
  exclude: EXCLUDED,
  langs: null,
  confined: true,
  signal
})
const options = { rules: null, withoutRules: [], requiresRationale: true, project: true, parseMs: 60_000 }
const scanner = {
  async scan(items: readonly { readonly path: string; readonly at?: string }[]) {
    const results = []
    for (const { path, at = path } of items)
      results.push({ ...(await scanFile(grammars, path, readFileSync(at, 'utf8'), options)), digest: '' })
    return results
  }
}
const { findings, filesScanned } = await scanProject(scanner, null, async () => [], {
  listing,
  scan: options,
  suppressions: [],
  places: [],
  now: Date.now(),
  signal
})
/** The event loop of a tool serves nothing else. */
const isOfTool = (file: string, ruleId: string): boolean =>
  file.startsWith('tools/') && ruleId === 'scaling/blocking-in-async'
const shown = findings.filter(({ severity, file, ruleId }) => severity !== 'info' && !isOfTool(file, ruleId))
// The first run makes the baseline.
if (!existsSync(BASELINE)) writeFileSync(BASELINE, printBaseline(shown))
const { added, raised, gone } = compare(parseBaseline(readFileSync(BASELINE, 'utf8'), BASELINE), shown)
const worse = [...added, ...raised]
for (const { file, line, column, severity, message, ruleId, suggestion } of worse.slice(0, MAX_LISTED))
  console.error(`${file}:${line}:${column}: ${severity}: ${message} [${ruleId}]; ${suggestion}`)
if (worse.length > MAX_LISTED) console.error(`… and ${worse.length - MAX_LISTED} more`)
if (worse.length > 0) process.exitCode = 1
else if (process.argv.includes('--update')) writeFileSync(BASELINE, printBaseline(shown))
else if (gone > 0) console.log(`${gone} findings of the baseline are gone; run tools/stub-check.ts --update`)
console.log(
  `stub check: ${filesScanned} files, ${worse.length} new findings, ${shown.length - worse.length} known ones`
)
