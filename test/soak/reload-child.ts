// Reloads one plugin of a served project again and again, and prints what the heap holds. Run with --expose-gc.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readCatalog } from '../../kernel/src/host/catalog.ts'
import { openProject } from '../../kernel/src/host/open-project.ts'

const [folder = '', source = '', count = '1000'] = process.argv.slice(2)
const reloads = Number(count)
const warm = Math.floor(reloads / 4)

const catalog = await readCatalog({
  cwd: folder,
  env: {},
  preferSource: true,
  // As under --watch: a new process for each manifest would take most of the time.
  spares: 1,
  set: ['plugins.http.port=0', 'kernel.plugin_directories=["plugins"]']
})
const project = await openProject({ catalog, only: ['http', 'soak'], watch: false, logLevel: 'error' })
const text = Buffer.from(source, 'base64').toString()
const file = join(folder, 'plugins', 'soak', 'src', 'plugin.ts')

function heap(): number {
  for (let round = 0; round < 6; round++) globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

let start = 0
for (let reload = 1; reload <= reloads; reload++) {
  writeFileSync(file, text.replaceAll('REVISION', String(reload)))
  await project.admin.apply({ reload: ['soak'] })
  const answer = await project.kernel.invoke(
    'soak.revision',
    {},
    { surface: 'internal', principal: { id: 'soak', role: 'admin', scopes: ['*'] } }
  )
  if ((answer as { revision: number }).revision !== reload) throw new Error(`stale code after reload ${reload}`)
  if (reload === warm) {
    await settled()
    start = heap()
  }
}
await settled()
const perReload = (heap() - start) / (reloads - warm)
const resources = process.getActiveResourcesInfo()
await project.close()
await catalog.close()
process.stdout.write(`${JSON.stringify({ reloads, perReload, resources: resources.length })}\n`)

/** Old units are disposed while reloads go on; waits for the last of them. */
function settled(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 100))
}
