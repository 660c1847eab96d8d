import { endianness } from 'node:os'
import type { SqlStatement } from '@svc/contracts'
import type { ModelEmbedder } from '../engine/query-embedder.ts'
import { CHUNK_SOURCE } from '../indexing/index-sql.ts'
import type { Library } from '../store/library.ts'
import { ScanThread } from './scan-thread.ts'
import { type Neighbour, VectorIndex } from './vector-index.ts'

/** Chunks whose vectors are computed and written together. */
const BATCH = 32
/** Vectors that are read in one query. */
const PAGE = 2_000

/** Vectors of other models count too if `model` is null, which takes much less time. */
const COUNTS = `SELECT (SELECT COUNT(*) FROM search_document_chunks), CASE WHEN :model IS NULL
  THEN (SELECT COUNT(*) FROM embeddings WHERE source_type = '${CHUNK_SOURCE}')
  ELSE (SELECT COUNT(*) FROM embeddings WHERE source_type = '${CHUNK_SOURCE}'
    AND json_extract(metadata, '$.model') = :model) END`
/** The heading, or the title, says what a part of a document is about. */
const PENDING = `SELECT c.id, coalesce(nullif(p.heading, ''), d.title) AS heading, c.body_text
  FROM search_document_chunks AS c JOIN search_documents AS d ON d.id = c.document_id
  LEFT JOIN search_chunk_places AS p ON p.chunk_id = c.id WHERE c.id > :after AND NOT EXISTS
  (SELECT 1 FROM embeddings AS e WHERE e.source_type = '${CHUNK_SOURCE}' AND e.source_id = CAST(c.id AS TEXT)
    AND json_extract(e.metadata, '$.model') = :model) ORDER BY c.id LIMIT :limit`
/** Ids of vectors only grow. */
// toestub-ignore(scaling/sql-without-limit) - an aggregate without a group is one row
const LAST = 'SELECT coalesce(MAX(id), 0) AS id FROM embeddings'
const PRESENT = `SELECT COUNT(*) AS count FROM embeddings WHERE source_type = '${CHUNK_SOURCE}'`
const NEW = `SELECT id, source_id, vector FROM embeddings WHERE source_type = '${CHUNK_SOURCE}' AND id > :after
  AND dim = :dim AND json_extract(metadata, '$.model') = :model ORDER BY id LIMIT ${PAGE}`
// toestub-ignore(scaling/sql-without-limit) - the ids of all vectors in memory are compared
const IDS = `SELECT source_id FROM embeddings WHERE source_type = '${CHUNK_SOURCE}'`
/** Vectors of removed passages that are kept in memory, as a share of the others. */
const MAX_STALE_SHARE = 0.1

interface Held {
  readonly model: string
  readonly index: VectorIndex
  /** Newest row of the table that the index has. */
  lastId: number
}

export interface ChunkVectorsParts {
  readonly library: Library
  readonly embedder: ModelEmbedder
  /** Maximum vectors of chunks. */
  readonly maximum: () => number
}

/** Vectors of the chunks: computed once, kept in the table `embeddings`, and compared in memory. */
export class ChunkVectors {
  readonly #parts: ChunkVectorsParts
  readonly #thread = new ScanThread()
  #held: Held | null = null
  /** Passages up to this id have vectors of the model. */
  #completed: { readonly model: string; readonly id: number } | null = null
  #reading: Promise<unknown> = Promise.resolve()

  constructor(parts: ChunkVectorsParts) {
    this.#parts = parts
  }

  /** Returns why there are no vectors; null if there can be some. */
  unavailable(): string | null {
    return this.#parts.embedder.unavailable()
  }

  /**
   * Computes the missing vectors, up to the maximum. What is written stays if it is aborted. Returns the number of new
   * vectors. Throws the reason of `signal`, and the errors of the model and of the database.
   */
  async complete(signal: AbortSignal, onProgress?: (done: number, total: number) => void): Promise<number> {
    const { library, embedder, maximum } = this.#parts
    if (embedder.unavailable() !== null) return 0
    const model = await embedder.digest()
    const completed = this.#completed?.model === model ? this.#completed.id : null
    const [counts] = await library.rows(COUNTS, { model: completed === null ? model : null })
    const [chunks = 0, present = 0] = Object.values(counts ?? {}).map(Number)
    const most = maximum() - present
    const total = Math.min(chunks - present, most)
    let [done, after] = [0, completed ?? 0]
    while (done < most) {
      signal.throwIfAborted()
      const rows = await library.rows(PENDING, { model, after, limit: Math.min(BATCH, most - done) })
      if (rows.length === 0) {
        this.#completed = { model, id: after }
        break
      }
      after = Number(rows.at(-1)?.id)
      const computed = await embedder.embedAll(
        rows.map(row => `${row.heading}\n${row.body_text}`),
        signal
      )
      await library.write(
        rows.flatMap((row, at): SqlStatement[] => {
          const vector = computed.vectors[at] as Float32Array
          return vectorStatements(Number(row.id), computed.model, vector)
        })
      )
      done += rows.length
      onProgress?.(done, Math.max(done, total))
    }
    return done
  }

  /** Returns the chunks that are most similar to a vector of a model, best first. */
  async search(model: string, vector: Float32Array, limit: number): Promise<readonly Neighbour[]> {
    const run = this.#reading.then(() => this.#current(model, vector.length))
    this.#reading = run.catch(() => undefined)
    return (await run).search(vector, limit)
  }

  /** Returns the similarities of chunks with a vector of a model, by id, without those that have no vector of it. */
  async similarities(
    model: string,
    vector: Float32Array,
    ids: readonly number[]
  ): Promise<ReadonlyMap<number, number>> {
    await this.#reading
    const index = this.#held?.model === model ? this.#held.index : null
    return new Map(
      ids.flatMap((id): [number, number][] => {
        const similarity = index?.similarity(id, vector) ?? null
        return similarity === null ? [] : [[id, similarity]]
      })
    )
  }

  /** Forgets vectors of passages that were removed. */
  drop(ids: readonly number[]): void {
    for (const id of ids) this.#held?.index.delete(id)
  }

  async close(): Promise<void> {
    this.#held = null
    await this.#thread.close()
  }

  /** Reads the vectors that were added since the last search. Those of removed passages may stay: see {@link drop}. */
  async #current(model: string, dimensions: number): Promise<VectorIndex> {
    const { library } = this.#parts
    const [last] = await library.rows(LAST)
    const lastId = Number(last?.id)
    const before = this.#held
    // A restored database may have fewer rows.
    const isSame = before?.model === model && before.index.dimensions === dimensions && before.lastId <= lastId
    const held = isSame ? before : { model, index: new VectorIndex(dimensions, this.#thread), lastId: 0 }
    this.#held = held
    if (lastId === held.lastId) return held.index
    for (let after = held.lastId; ; ) {
      const rows = await library.rows(NEW, { after, dim: dimensions, model })
      for (const { source_id, vector } of rows) {
        const floats = vector instanceof Uint8Array ? floatsOf(vector) : null
        if (floats !== null) held.index.set(Number(source_id), floats)
      }
      if (rows.length < PAGE) break
      after = Number(rows.at(-1)?.id)
    }
    held.lastId = lastId
    const [present] = await library.rows(PRESENT)
    if (held.index.size > Number(present?.count) * (1 + MAX_STALE_SHARE)) await this.#dropRemoved(held.index)
    return held.index
  }

  async #dropRemoved(index: VectorIndex): Promise<void> {
    const present = new Set((await this.#parts.library.rows(IDS)).map(({ source_id }) => Number(source_id)))
    for (const id of [...index.ids()]) if (!present.has(id)) index.delete(id)
  }
}

function vectorStatements(chunk: number, model: string, vector: Float32Array): SqlStatement[] {
  const source = String(chunk)
  return [
    {
      sql: `DELETE FROM embeddings WHERE source_type = '${CHUNK_SOURCE}' AND source_id = ?`,
      parameters: [source]
    },
    {
      // A chunk that was removed meanwhile gets no vector.
      sql: `INSERT INTO embeddings (source_type, source_id, dim, vector, metadata)
        SELECT '${CHUNK_SOURCE}', CAST(id AS TEXT), :dim, :vector, :metadata FROM search_document_chunks WHERE id = :chunk`,
      parameters: { chunk, dim: vector.length, vector: bytesOf(vector), metadata: JSON.stringify({ model }) }
    }
  ]
}

const IS_LITTLE_ENDIAN = endianness() === 'LE'

/** Little-endian 32-bit floats. */
function bytesOf(vector: Float32Array): Uint8Array {
  const bytes = new Uint8Array(vector.length * 4)
  const view = new DataView(bytes.buffer)
  for (const [at, value] of vector.entries()) view.setFloat32(at * 4, value, true)
  return bytes
}

function floatsOf(bytes: Uint8Array): Float32Array | null {
  if (bytes.byteLength % 4 !== 0) return null
  if (IS_LITTLE_ENDIAN) return new Float32Array(bytes.slice().buffer)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Float32Array.from({ length: bytes.byteLength / 4 }, (_, at) => view.getFloat32(at * 4, true))
}
