// Runs the tests, all or those given as arguments, and searches what leaves their processes for the secrets that these
// know. Exits with 1 if a secret is found, or if a test fails.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPreload } from '../test/secret-watch/build.mjs'
import { reportOf } from '../test/secret-watch/report.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const keep = process.argv.includes('--keep')
const named = process.argv.slice(2).filter(argument => argument !== '--keep')
const folder = mkdtempSync(join(tmpdir(), 'svc-secret-watch-'))

const code = await run(join(folder, 'records'), await buildPreload(root))
const report = reportOf(join(folder, 'records'))
print(report)
if (keep) process.stderr.write(`records, with the secrets: ${folder}\n`)
else rmSync(folder, { recursive: true })
process.exitCode = report.findings.length > 0 || code !== 0 ? 1 : 0

function run(records, preload) {
  const nodeOptions = `${process.env.NODE_OPTIONS ?? ''} --require=${preload}`.trim()
  const runner = spawn(process.execPath, ['tools/run-tests.mjs', ...named], {
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
}
