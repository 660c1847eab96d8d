/**
 * Installation of the repository's packages: time of `npm ci` with a warm cache, and size of `node_modules`. Installs into
 * temporary folders with only the manifests of the workspaces.
 *
 *   node --import tsx --conditions=svc-source bench/install.ts [--json] [--rounds 3]
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Figure, figureOf, withRange } from './figures.ts'

export interface InstallResult {
  readonly seconds: Figure
  /** Space on the disk of all packages. */
  readonly size_mb: number
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))

function install(): readonly [seconds: number, sizeMb: number] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-install-'))
  try {
    const listed = execFileSync('git', ['ls-files', 'package-lock.json', '.npmrc', '*package.json'], { cwd: ROOT })
    for (const file of listed.toString().trim().split('\n')) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      cpSync(join(ROOT, file), join(folder, file))
    }
    const started = performance.now()
    execFileSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'pipe' })
    const seconds = (performance.now() - started) / 1_000
    const [size = ''] = execFileSync('du', ['-sm', join(folder, 'node_modules')])
      .toString()
      .split('\t')
    return [seconds, Number(size)]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const { values } = parseArgs({ options: { json: { type: 'boolean' }, rounds: { type: 'string', default: '3' } } })
const rounds = Array.from({ length: Number(values.rounds) }, install)
const result: InstallResult = {
  seconds: figureOf(rounds.map(([seconds]) => seconds)),
  size_mb: rounds[0]?.[1] ?? Number.NaN
}
if (values.json) console.log(JSON.stringify({ benchmark: 'install', node: process.version, ...result }))
else console.log(`npm ci: ${withRange(result.seconds, ' s')}, ${result.size_mb} MB`)
