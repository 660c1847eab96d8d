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

const COUNTS = `SELECT (SELECT COUNT(*) FROM search_document_chunks),
  (SELECT COUNT(*) FROM embeddings WHERE source_type = '${CHUNK_SOURCE}' AND json_extract(metadata, '$.model') = :model)`
const PENDING = `SELECT c.id, c.body_text FROM search_document_chunks AS c WHERE c.id > :after AND NOT EXISTS
  (SELECT 1 FROM embeddings AS e WHERE e.source_type = '${CHUNK_SOURCE}' AND e.source_id = CAST(c.id AS TEXT)
    AND json_extract(e.metadata, '$.model') = :model) ORDER BY c.id LIMIT :limit`
const STATE = `SELECT COUNT(*), coalesce(MAX(id), 0) FROM embeddings WHERE source_type = '${CHUNK_SOURCE}'`
const NEW = `SELECT id, source_id, vector FROM embeddings WHERE source_type = '${CHUNK_SOURCE}' AND id > :after
  AND dim = :dim AND json_extract(metadata, '$.model') = :model ORDER BY id LIMIT ${PAGE}`
const IDS = `SELECT source_id FROM embeddings WHERE source_type = '${CHUNK_SOURCE}'
  AND json_extract(metadata, '$.model') = :model`

interface Held {
  readonly model: string
  readonly index: VectorIndex
  /** State of the table that the index has. */
  count: number
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
    const [counts] = await library.rows(COUNTS, { model })
    const [chunks = 0, present = 0] = Object.values(counts ?? {}).map(Number)
    const total = Math.min(chunks, maximum()) - present
    let [done, after] = [0, 0]
    while (done < total) {
      signal.throwIfAborted()
      const rows = await library.rows(PENDING, { model, after, limit: Math.min(BATCH, total - done) })
      if (rows.length === 0) break
      after = Number(rows.at(-1)?.id)
      const computed = await embedder.embedAll(
        rows.map(row => String(row.body_text)),
        signal
      )
      await library.write(
        rows.flatMap((row, at): SqlStatement[] => {
          const vector = computed.vectors[at] as Float32Array
          return vectorStatements(Number(row.id), computed.model, vector)
        })
      )
      done += rows.length
      onProgress?.(done, total)
    }
    return done
  }

  /** Returns the chunks that are most similar to a vector of a model, best first. */
  async search(model: string, vector: Float32Array, limit: number): Promise<readonly Neighbour[]> {
    const run = this.#reading.then(() => this.#current(model, vector.length))
    this.#reading = run.catch(() => undefined)
    return (await run).search(vector, limit)
  }

  async close(): Promise<void> {
    this.#held = null
    await this.#thread.close()
  }

  /** Reads what has changed in the table since the last search. */
  async #current(model: string, dimensions: number): Promise<VectorIndex> {
    const { library } = this.#parts
    if (this.#held?.model !== model || this.#held.index.dimensions !== dimensions)
      this.#held = { model, index: new VectorIndex(dimensions, this.#thread), count: 0, lastId: 0 }
    const held = this.#held
    const [state] = await library.rows(STATE)
    const [count = 0, lastId = 0] = Object.values(state ?? {}).map(Number)
    if (count === held.count && lastId === held.lastId) return held.index
    for (let after = held.lastId; ; ) {
      const rows = await library.rows(NEW, { after, dim: dimensions, model })
      for (const { source_id, vector } of rows) {
        const floats = vector instanceof Uint8Array ? floatsOf(vector) : null
        if (floats !== null) held.index.set(Number(source_id), floats)
      }
      if (rows.length < PAGE) break
      after = Number(rows.at(-1)?.id)
    }
    const present = new Set((await library.rows(IDS, { model })).map(({ source_id }) => Number(source_id)))
    for (const id of [...held.index.ids()]) if (!present.has(id)) held.index.delete(id)
    held.count = count
    held.lastId = lastId
    return held.index
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

/** Little-endian 32-bit floats. */
function bytesOf(vector: Float32Array): Uint8Array {
  const bytes = new Uint8Array(vector.length * 4)
  const view = new DataView(bytes.buffer)
  for (const [at, value] of vector.entries()) view.setFloat32(at * 4, value, true)
  return bytes
}

function floatsOf(bytes: Uint8Array): Float32Array | null {
  if (bytes.byteLength % 4 !== 0) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Float32Array.from({ length: bytes.byteLength / 4 }, (_, at) => view.getFloat32(at * 4, true))
}
