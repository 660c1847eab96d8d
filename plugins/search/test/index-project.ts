import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import '../../database/test/built-worker.ts'
import './built-worker.ts'
import { applyBaseline, openFile } from '@svc/plugin-database/testing'
import type { Test } from 'tap'
import { Indexer, IndexStore, IndexThread, PdfProcess } from '#indexing'

export const DEFAULTS = {
  repo_max_files: 20_000,
  repo_skip_dirs: ['.git', 'node_modules'] as readonly string[],
  index_max_file_bytes: 100_000,
  index_max_pdf_bytes: 10_000_000,
  index_max_pdf_pages: 50
}

function folder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-index-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Returns a new temporary project, and a function that writes its files. */
export function project(t: Test) {
  const root = folder(t)
  const write = (files: Readonly<Record<string, string | Uint8Array>>): void => {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), content)
    }
  }
  return { root, write }
}

/** Indexer of a new temporary project with a database. */
export async function indexProject(
  t: Test,
  settings: Partial<typeof DEFAULTS> = {},
  { stepMs = 20_000, databaseInProject = false } = {}
) {
  const { root, write } = project(t)
  const file = join(databaseInProject ? root : folder(t), 'index.db')
  const database: DatabaseStore = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
  await applyBaseline(database)
  const thread = new IndexThread(() => stepMs)
  const pdf = new PdfProcess()
  t.teardown(async () => {
    await Promise.all([thread.close(), pdf.close()])
    await database.close()
  })
  const store = new IndexStore(database)
  const indexer = new Indexer({
    projectRoot: root,
    store,
    thread,
    pdf,
    settings: () => ({ ...DEFAULTS, index_step_ms: stepMs, ...settings }),
    onChange: () => undefined
  })
  const run = (full = false) => indexer.index({ full, signal: new AbortController().signal })
  return { root, write, file, database, thread, store, indexer, run, find: (word: string) => find(database, word) }
}

/** Returns the documents with a word, with the first line of its chunk. */
export async function find(database: DatabaseStore, word: string): Promise<readonly string[]> {
  const { rows } = await database.query(
    `SELECT d.source_uri, p.first_line FROM search_document_chunks_fts AS f
      JOIN search_document_chunks AS c ON c.id = f.rowid JOIN search_documents AS d ON d.id = c.document_id
      JOIN search_chunk_places AS p ON p.chunk_id = c.id WHERE search_document_chunks_fts MATCH ? ORDER BY 1, 2`,
    [`"${word}"`]
  )
  return rows.map(([uri, line]) => `${uri}:${line ?? '-'}`)
}
