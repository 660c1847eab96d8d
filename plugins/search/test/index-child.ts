// Indexes a project in this process, and reports to the parent before and after each write, or only the end of the run.
import { openFile } from '@svc/plugin-database/testing'
import { Indexer, IndexStore, IndexThread, PdfProcess } from '#indexing'
import { DEFAULTS } from './index-project.ts'

const [root = '', file = '', mode = 'stepwise'] = process.argv.slice(2)
const database = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
const store = new IndexStore(database)
const write = store.write.bind(store)
let writes = 0
store.write = async (files, now) => {
  // The parent kills this process during the third write.
  if (++writes === 4 && mode === 'stepwise') await new Promise(() => setInterval(() => undefined, 1_000))
  process.send?.('writing')
  await write(files, now)
  process.send?.('written')
}
const thread = new IndexThread(() => 20_000)
const indexer = new Indexer({
  projectRoot: root,
  store,
  thread,
  pdf: new PdfProcess(),
  settings: () => ({ ...DEFAULTS, index_step_ms: 20_000 }),
  onChange: () => undefined
})
const run = indexer.index({ full: false, signal: new AbortController().signal })
if (mode === 'stepwise') await run
else {
  const outcome = await run.then(
    report => ({ report }),
    ({ code, message }) => ({ code, message })
  )
  process.send?.(outcome, undefined, undefined, () => process.exit())
}
