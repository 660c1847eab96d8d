// Builds all workspace plugins for publishing: dist/plugin.cjs, dist/plugin.json and V8's code cache.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPlugin } from '../kernel/dist/loader/build.js'
import { writeCodeCache } from '../kernel/dist/loader/code-cache.js'

const root = fileURLToPath(new URL('../plugins', import.meta.url))
// If only some workspaces are installed, only those are built.
const installed = name => existsSync(join(root, '..', 'node_modules', '@svc', `plugin-${name}`))
const folders = readdirSync(root).filter(name => existsSync(join(root, name, 'src', 'plugin.ts')) && installed(name))
const results = await Promise.allSettled(folders.map(name => build(join(root, name))))
for (const [index, result] of results.entries()) {
  if (result.status === 'fulfilled') continue
  process.exitCode = 1
  console.error(`plugins/${folders[index]}: ${result.reason.message}`)
}
// The page of the console is built separately, since it runs in browsers.
for (const name of folders) buildPage(join(root, name))
if (process.exitCode === undefined) console.log(`built ${folders.length} plugins`)

// The first run of `svc` writes its code cache (kernel/bin/program.cjs).
const svc = fileURLToPath(new URL('../kernel/bin/svc.cjs', import.meta.url))
spawnSync(process.execPath, [svc, '--help'], { stdio: 'ignore' })

/** Runs page/build.mjs, unless page-dist/ is newer than all of its sources. */
function buildPage(folder) {
  const script = join(folder, 'page', 'build.mjs')
  if (!existsSync(script)) return
  const target = join(folder, 'page-dist', 'index.html')
  const sources = readdirSync(join(folder, 'page'), { recursive: true }).map(name => join(folder, 'page', name))
  const builtAt = existsSync(target) ? statSync(target).mtimeMs : 0
  if ([...sources, join(folder, 'package.json')].every(file => statSync(file).mtimeMs < builtAt)) return
  const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
  if (status === 0) return
  process.exitCode = 1
  console.error(`${folder}/page: ${stderr.trim()}`)
}

async function build(folder) {
  let cached
  const { version } = await buildPlugin(folder, { onCompiled: each => (cached = each) })
  await writeCodeCache(join(folder, 'dist', 'plugin.cjs'), version, cached)
}
