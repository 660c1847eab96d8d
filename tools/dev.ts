// Builds svc, serves it, and keeps it up to date while you edit: plugins are reloaded when you save them, pages of the console are
// rebuilt, and a change of the kernel, the SDK, the contracts or the configuration rebuilds and restarts it. Arguments are
// passed to `svc serve`. `npm run dev`
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DevLoop, type Page } from './dev-loop.ts'

const ROOT = join(import.meta.dirname, '..')
const SVC = join(ROOT, 'kernel', 'bin', 'svc.cjs')
const PACKAGES = ['plugin-sdk', 'contracts', 'config', 'kernel']
const { execPath } = process

const log = (line: string): void => console.error(`dev: ${line}`)

function pageOf(plugin: string): Page[] {
  const folder = join(ROOT, 'plugins', plugin, 'page')
  const script = join(folder, 'build.mjs')
  if (!existsSync(script)) return []
  return [{ plugin, folder, build: [execPath, script], reload: [execPath, SVC, 'plugins', 'reload', plugin] }]
}

log('building')
const { status } = spawnSync('npm', ['run', '-s', 'build'], { cwd: ROOT, stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)

const loop = new DevLoop({
  root: ROOT,
  core: [...PACKAGES.map(name => join(ROOT, name, 'src')), join(ROOT, 'config', 'defaults.toml')],
  build: [
    execPath,
    join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'),
    '-b',
    ...PACKAGES.map(name => join(ROOT, name, 'tsconfig.build.json'))
  ],
  serve: [execPath, SVC, 'serve', '--watch', ...process.argv.slice(2)],
  pages: readdirSync(join(ROOT, 'plugins')).flatMap(pageOf),
  log
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => loop.signal(signal))
process.on('exit', () => loop.kill())
process.exitCode = await loop.run()
