/**
 * Heap growth per reload: reloads a plugin a thousand times that leaves a timer, a listener and a server open.
 *
 *   node --import tsx --conditions=svc-source bench/heap.ts [--json] [--reloads N]
 */
import { parseArgs } from 'node:util'
import { soak } from '../test/soak/soak.ts'

const { values } = parseArgs({ options: { json: { type: 'boolean' }, reloads: { type: 'string', default: '1000' } } })
const { reloads, perReload } = await soak(Number(values.reloads))
const results = { bytes_per_reload: perReload, reloads }
if (values.json) console.log(JSON.stringify({ benchmark: 'heap', node: process.version, results }))
else console.log(`${perReload.toFixed(0)} bytes per reload over ${reloads} reloads`)
