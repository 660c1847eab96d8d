// Reloads one plugin of a served project repeatedly, and prints the heap size. Run with --expose-gc.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openInProcess } from '@svc/kernel/testing'

const [folder = '', source = '', count = '1000'] = process.argv.slice(2)
const reloads = Number(count)
const warm = Math.floor(reloads / 4)

const set = ['plugins.http.port=0', 'kernel.plugin_directories=["plugins"]']
const project = await openInProcess({ root: folder, only: ['http', 'soak'], set })
const text = Buffer.from(source, 'base64').toString()
const file = join(folder, 'plugins', 'soak', 'src', 'plugin.ts')

function heap(): number {
  for (let round = 0; round < 6; round++) globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

let start = 0
for (let reload = 1; reload <= reloads; reload++) {
  writeFileSync(file, text.replaceAll('REVISION', String(reload)))
  await project.reload('soak')
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
process.stdout.write(`${JSON.stringify({ reloads, perReload, resources: resources.length })}\n`)

/** Waits until the last old unit is disposed, which happens during later reloads. */
function settled(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 100))
}
