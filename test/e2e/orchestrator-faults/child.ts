// Process with the real plugins that runs the story and kills itself. Arguments: FILE, POINT, AT, FOLDER. POINT and AT
// select the write at which it kills itself (see deadly-store.ts). With POINT `images` it survives, and copies the
// database into FOLDER before each write: the state that a process killed at that moment would have left. It prints
// facts as lines of JSON: `? FACT` before a command, `! FACT` after its acknowledgement, and `@ N` for a copy.
import { constants, copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import { deadly, say } from '../../../plugins/orchestrator/test/durable/deadly-store.ts'
import { story } from './story.ts'
import { openWhole } from './whole.ts'

const [file = '', point = 'never', at = '0', folder = ''] = process.argv.slice(2)
let images = 0

function image(): void {
  images += 1
  for (const suffix of ['', '-wal'])
    if (existsSync(`${file}${suffix}`))
      copyFileSync(`${file}${suffix}`, join(folder, `${images}.db${suffix}`), constants.COPYFILE_FICLONE)
  say(`@ ${images}`)
}

function imaged(store: DatabaseStore): DatabaseStore {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      const bound = value.bind(target)
      if (name !== 'batch' && name !== 'execute' && name !== 'transaction') return bound
      return (...args: unknown[]) => {
        image()
        return bound(...args)
      }
    }
  })
}

const wrap = point === 'images' ? imaged : (store: DatabaseStore) => deadly(store, point, Number(at))
const { kernel, service } = await openWhole(file, { wrap })
const line = (sign: string) => (fact: object) => say(`${sign} ${JSON.stringify(fact)}`)
await story(kernel, service(), { asked: line('?'), told: line('!') })
while (service().status().outbox.pending > 0) await new Promise(resolve => setTimeout(resolve, 5))
if (point === 'images') image()
say('done')
setInterval(() => {}, 1_000)
