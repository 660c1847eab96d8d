// Child process that migrates a database: `FILE PROJECT SOURCE`. Reports its start and end.
import { join } from 'node:path'
import { openFile } from '@svc/plugin-database/testing'
import { migrateSchema } from '#schema'
import { programFrom } from '../run-program.ts'

const [file = '', projectRoot = '', source = ''] = process.argv.slice(2)
const store = await openFile(file, { busyTimeoutMs: 5_000, synchronous: 'normal' })
const program = programFrom(source, false, join(projectRoot, 'app.vox'))
process.stdout.write('begins\n')
await migrateSchema(store, program, { projectRoot })
process.stdout.write('done\n')
await store.close()
