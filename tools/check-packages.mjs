// Lints packed packages with publint and @arethetypeswrong/cli, which npm fetches: npm run check:packages -- FILE_OR_FOLDER …
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const PUBLINT = ['--package=publint@0.3.25', '--', 'publint', 'run', '--strict']
// Packages are ES modules, or have no types. The compiled validator is only for compiled plugins.
const ATTW = ['--package=@arethetypeswrong/cli@0.18.5', '--', 'attw', '--profile', 'esm-only', '--format', 'ascii']
const WITHOUT_TYPES = ['--exclude-entrypoints', 'check/ajv']

const files = process.argv
  .slice(2)
  .flatMap(path => (statSync(path).isDirectory() ? readdirSync(path).map(name => join(path, name)) : [path]))
  .filter(file => file.endsWith('.tgz'))
if (files.length === 0) throw new Error('no package is named: npm run check:packages -- DIR, after npm run release')
for (const file of files) {
  lint(file, [...PUBLINT, file])
  const isSdk = file.includes('-plugin-sdk-')
  const typed = /-(?:plugin-sdk|contracts|config|kernel|onnxruntime-[^/]+)-\d/.test(file)
  if (typed) lint(file, [...ATTW, file, ...(isSdk ? WITHOUT_TYPES : [])])
}
if (process.exitCode === undefined) console.log(`${files.length} packages have no problems`)

function lint(file, argv) {
  const { status, stdout, stderr } = spawnSync('npm', ['exec', '--yes', ...argv], { encoding: 'utf8' })
  if (status === 0) return
  process.exitCode = 1
  console.error(`${file}:\n${stdout}${stderr}`)
}
