// Runs the tests, all or those given as arguments, and searches what leaves their processes for the secrets that these
// know. Exits with 1 if a secret is found, or if a test fails. --keep keeps the records, which contain the secrets, and
// --report FOLDER searches kept records again.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildPreload } from '../test/secret-watch/build.mjs'
import { reportOf } from '../test/secret-watch/report.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values, positionals } = parseArgs({
  options: { keep: { type: 'boolean', default: false }, report: { type: 'string' } },
  allowPositionals: true
})

if (values.report === undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-secret-watch-'))
  const records = join(folder, 'records')
  mkdirSync(records)
  const code = await run(records, await buildPreload(root))
  process.exitCode = Math.max(print(reportOf(records)), code === 0 ? 0 : 1)
  if (values.keep) process.stderr.write(`records, with the secrets: ${records}\n`)
  else rmSync(folder, { recursive: true })
} else process.exitCode = print(reportOf(values.report))

function run(records, preload) {
  const nodeOptions = `${process.env.NODE_OPTIONS ?? ''} --require=${preload}`.trim()
  const runner = spawn(process.execPath, ['tools/run-tests.mjs', ...positionals], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_OPTIONS: nodeOptions,
      SECRET_WATCH_FOLDER: records,
      SECRET_WATCH_ROOT: root,
      // Not read by svc: found if a part of svc writes its environment somewhere.
      CANARY_API_KEY: `canary-${randomBytes(16).toString('hex')}`,
      CANARY_PASSWORD: `canary+/ "${randomBytes(16).toString('base64')}"`
    }
  })
  return new Promise(resolve => runner.on('close', code => resolve(code ?? 1)))
}

/** Prints a report. Returns the exit code. */
function print(report) {
  const { scopes, secrets, common, writes, bytes, skipped, findings, allowed } = report
  const lines = findings.map(
    ({ sink, place, file, test, secret, id, length, form, count, context }) =>
      `${sink}: ${place}\n  secret: ${secret} (${length} bytes, ${form}, id ${id}), ${count} times\n  test: ${file}: ${test}\n  text: ${context}`
  )
  const megabytes = size => `${(size / 2 ** 20).toFixed(1)} MiB`
  lines.push(
    `${findings.length} findings; ${secrets} secrets (and ${common} common words) in ${scopes} test processes; ${writes} writes, ${megabytes(bytes)}; ${megabytes(skipped)} not read`
  )
  for (const [rule, count] of allowed) lines.push(`allowed ${count} times: ${rule}`)
  process.stdout.write(`${lines.join('\n')}\n`)
  return findings.length > 0 ? 1 : 0
}
