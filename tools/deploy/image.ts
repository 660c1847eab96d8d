/**
 * Writes the files of svc in the container image into a folder, as they are below `/`. Needs `npm run build`.
 *
 *   node --import tsx --conditions=svc-source tools/deploy/image.ts DIR
 */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Archive } from '../release/archive.ts'
import type { Lock } from '../release/lockfile.ts'
import { stagePackages } from '../release/stage.ts'
import { checkBuilt, ROOT, readJson, workspacesOf } from '../release/workspaces.ts'
import { slim } from './slim.ts'

const [out] = process.argv.slice(2)
if (out === undefined) throw new Error('the folder for the files is missing: tools/deploy/image.ts DIR')
const target = resolve(out)

const workspaces = workspacesOf()
checkBuilt(workspaces)
const version = workspaces.find(({ folder }) => folder === 'kernel')?.manifest.version ?? ''
const { packages: lock } = readJson<{ packages: Lock }>(join(ROOT, 'package-lock.json'))
const scratch = mkdtempSync(join(tmpdir(), 'svc-image-'))
try {
  const scope = 'svc'
  const staged = stagePackages(workspaces, { scratch, version, scope })
  const tag = `v${version}`
  const archive = new Archive({ workspaces, staged, scratch, tag, scope, out: scratch, changes: '', lock })
  archive.bundled()
  const program = join(target, 'opt', 'svc')
  mkdirSync(join(target, 'usr', 'local', 'bin'), { recursive: true })
  mkdirSync(join(target, 'etc', 'svc'), { recursive: true })
  cpSync(archive.folder, program, { recursive: true })
  slim(program)
  const files = join(ROOT, 'config', 'deploy', 'image')
  cpSync(join(files, 'svc.toml'), join(target, 'etc', 'svc', 'svc.toml'))
  for (const file of ['entrypoint.sh', 'ready.mjs']) cpSync(join(files, file), join(program, file))
  chmodSync(join(program, 'entrypoint.sh'), 0o755)
  symlinkSync(join('/opt', 'svc', 'bin', 'svc.cjs'), join(target, 'usr', 'local', 'bin', 'svc'))
  process.stdout.write(`${(sizeOf(target) / 1e6).toFixed(1)} MB in ${target}\n`)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}
