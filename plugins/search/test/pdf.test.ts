import { rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { PdfProcess } from '#indexing'
import { indexProject, project } from './index-project.ts'
import { deflatedTwice, pdfFile } from './pdf-files.ts'

/** Makes the empty password wrong. */
const ENCRYPTED = `/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<${'11'.repeat(32)}>/U<${'22'.repeat(32)}>>>/ID[<00><00>]`

t.test('a PDF document is found by its text, with the page, and is read again only when it changes', async t => {
  const { write, run, database, root } = await indexProject(t)
  const manual = (word: string): Buffer =>
    pdfFile(['Of the aardvark', `Of the ${word}\nSecond line`], { title: 'Manual' })
  write({ 'docs/manual.pdf': manual('quokka'), 'a.md': 'quokka' })
  t.match(await run(), { files: 2, indexed: 2, skipped: {}, chunks: 3 })
  const pages = async (word: string) => {
    const { rows } = await database.query(
      `SELECT d.source_uri, d.title, g.page, c.body_text FROM search_document_chunks_fts AS f
        JOIN search_document_chunks AS c ON c.id = f.rowid JOIN search_documents AS d ON d.id = c.document_id
        LEFT JOIN search_chunk_pages AS g ON g.chunk_id = c.id WHERE search_document_chunks_fts MATCH ? ORDER BY 1`,
      [word]
    )
    return rows
  }
  t.same(await pages('quokka'), [
    ['repo:a.md', 'a.md', null, 'quokka'],
    ['repo:docs/manual.pdf', 'Manual', 2, 'Of the quokka\nSecond line']
  ])
  t.match(await run(), { indexed: 0, unchanged: 2 })
  write({ 'docs/manual.pdf': manual('numbat') })
  t.match(await run(), { indexed: 1, unchanged: 1 })
  t.equal((await pages('quokka')).length, 1)
  t.match(await pages('numbat'), [['repo:docs/manual.pdf', 'Manual', 2, 'Of the numbat\nSecond line']])
  rmSync(join(root, 'docs/manual.pdf'))
  t.match(await run(), { removed: 1 })
  t.same(await pages('aardvark'), [])
  t.same((await database.query('SELECT COUNT(*) FROM search_chunk_pages')).rows, [[0]])
})

t.test('encrypted, broken, empty, long and large documents are left out with a reason', async t => {
  const limits = { index_max_pdf_pages: 3, index_max_pdf_bytes: 20_000 }
  const { write, run, find, store } = await indexProject(t, limits)
  const good = pdfFile(['Of the aardvark'])
  write({
    'encrypted.pdf': pdfFile(['Of the quokka'], { trailer: ENCRYPTED }),
    'text.pdf': 'no document',
    'half.pdf': good.subarray(0, 40),
    'scanned.pdf': pdfFile(['']),
    'long.pdf': pdfFile(['1', '2', '3', '4']),
    'large.pdf': Buffer.concat([good, Buffer.alloc(20_000)]),
    'good.pdf': good
  })
  t.match(await run(), {
    indexed: 1,
    skipped: { encrypted: 1, malformed: 2, no_text: 1, too_many_pages: 1, too_large: 1 }
  })
  t.same(await find('aardvark'), ['repo:good.pdf:-'])
  const files = (await store.counts()).skippedFiles.map(({ path, reason }) => `${path}: ${reason}`)
  t.same(files.sort(), [
    ...['encrypted.pdf: encrypted', 'half.pdf: malformed', 'large.pdf: too_large', 'long.pdf: too_many_pages'],
    ...['scanned.pdf: no_text', 'text.pdf: malformed']
  ])
  t.match(await run(), { indexed: 0, unchanged: 6, skipped: { too_many_pages: 1 } })
  limits.index_max_pdf_pages = 4
  t.match(await run(), { indexed: 1, unchanged: 6, skipped: {} }, 'raised limits have an effect')
})

t.test('a document that inflates without end is left out, and the ones after it are read', async t => {
  const { write, run, find } = await indexProject(t, {}, { stepMs: 1_000 })
  const stream = { data: deflatedTwice(600 * 2 ** 20), filter: '/FlateDecode/FlateDecode' }
  t.ok(stream.data.length < 10_000, `${stream.data.length} bytes`)
  write({ 'bomb.pdf': pdfFile(['x'], { stream }), 'z.pdf': pdfFile(['Of the aardvark']) })
  const { indexed, skipped } = await run()
  t.equal(indexed, 1)
  // The time limit or the memory limit ends it, whichever is first.
  t.equal((skipped.timed_out ?? 0) + (skipped.out_of_memory ?? 0), 1, JSON.stringify(skipped))
  t.same(await find('aardvark'), ['repo:z.pdf:-'])
})

t.test('an aborted run ends the process that reads a document', async t => {
  const { write: writeFiles, indexer, store } = await indexProject(t)
  const stream = { data: deflatedTwice(300 * 2 ** 20), filter: '/FlateDecode/FlateDecode' }
  writeFiles({ 'bomb.pdf': pdfFile(['x'], { stream }), 'a.md': 'alpha' })
  const stop = new AbortController()
  const write = store.write.bind(store)
  // The text file is written while the document is read.
  store.write = async (files, now) => {
    await write(files, now)
    stop.abort(new Error('stopped'))
  }
  await t.rejects(indexer.index({ full: false, signal: stop.signal }), { message: 'stopped' })
  t.match(await store.lastJob(), { status: 'cancelled' })
})

t.test('damaged documents are read or left out with a reason, and end no process', async t => {
  const { root, write } = project(t)
  const pdf = new PdfProcess()
  t.teardown(() => pdf.close())
  const whole = pdfFile(['Of the aardvark', 'Of the quokka'], { title: 'Manual' })
  const reasons = new Set<string | null>(['malformed', 'no_text', 'encrypted', 'too_many_pages', 'too_much_text', null])
  const damage = fc.record({
    cut: fc.integer({ min: 1, max: whole.length }),
    bytes: fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 8 })
  })
  const check = async ({ cut, bytes }: { cut: number; bytes: [number, number][] }): Promise<void> => {
    const damaged = Buffer.from(whole.subarray(0, cut))
    for (const [at, value] of bytes) if (at < cut) damaged[at] = value
    write({ 'a.pdf': damaged })
    const request = { root, path: 'a.pdf', knownHash: null, maxBytes: 100_000, maxPages: 50, stepMs: 30_000 }
    const { state, reason, chunks } = await pdf.read(request, new AbortController().signal)
    if (!reasons.has(reason)) throw new Error(`${reason}`)
    if ((state === 'read') !== chunks.length > 0) throw new Error(`${state} with ${chunks.length} chunks`)
  }
  await fc.assert(fc.asyncProperty(damage, check), { numRuns: 60 })
})
