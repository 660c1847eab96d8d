import { candidateWindow, cosine } from '../score/scores.ts'
import type { Library } from './library.ts'

/** Vectors that are compared before other work runs. */
const BATCH = 2_000

export interface Similar {
  readonly sourceId: string
  /** Cosine similarity, [-1, 1]. */
  readonly similarity: number
}

/** Vectors in the table `embeddings`, little-endian 32-bit floats. */
export class StoredVectors {
  readonly #library: Library
  readonly #multiplier: () => number

  constructor(library: Library, multiplier: () => number) {
    this.#library = library
    this.#multiplier = multiplier
  }

  /** Replaces the vector of a source. */
  async store(sourceType: string, sourceId: string, model: string, vector: Float32Array): Promise<void> {
    const bytes = new Uint8Array(vector.length * 4)
    const view = new DataView(bytes.buffer)
    for (const [at, value] of vector.entries()) view.setFloat32(at * 4, value, true)
    await this.#library.write([
      { sql: 'DELETE FROM embeddings WHERE source_type = ? AND source_id = ?', parameters: [sourceType, sourceId] },
      {
        sql: 'INSERT INTO embeddings (source_type, source_id, dim, vector, metadata) VALUES (?, ?, ?, ?, ?)',
        parameters: [sourceType, sourceId, vector.length, bytes, JSON.stringify({ model })]
      }
    ])
  }

  async remove(sourceType: string, sourceId: string): Promise<void> {
    await this.#library.write([
      { sql: 'DELETE FROM embeddings WHERE source_type = ? AND source_id = ?', parameters: [sourceType, sourceId] }
    ])
  }

  /**
   * Compares a vector with the newest stored ones of the same model, as many as the candidate window allows. Returns
   * the most similar, at most `limit`. Stored vectors of another length or with NaN are left out.
   */
  async similar(
    sourceType: string,
    model: string,
    vector: Float32Array,
    limit: number,
    signal: AbortSignal
  ): Promise<readonly Similar[]> {
    const window = candidateWindow(limit, this.#multiplier(), this.#library.capabilities?.fts ?? false)
    const found: Similar[] = []
    let before = Number.MAX_SAFE_INTEGER
    for (let left = window; left > 0; left -= BATCH) {
      signal.throwIfAborted()
      const rows = await this.#library.rows(
        `SELECT id, source_id, vector FROM embeddings WHERE source_type = :sourceType AND dim = :dim AND id < :before
          AND json_extract(metadata, '$.model') = :model ORDER BY id DESC LIMIT :limit`,
        { sourceType, dim: vector.length, before, model, limit: Math.min(BATCH, left) }
      )
      for (const { id, source_id, vector: stored } of rows) {
        before = Number(id)
        const values = stored instanceof Uint8Array ? floatsOf(stored, vector.length) : null
        const similarity = values === null ? Number.NaN : cosine(vector, values)
        if (Number.isFinite(similarity)) found.push({ sourceId: String(source_id), similarity })
      }
      if (rows.length < Math.min(BATCH, left)) break
    }
    return found.sort((a, b) => b.similarity - a.similarity).slice(0, limit)
  }
}

function floatsOf(bytes: Uint8Array, length: number): Float32Array | null {
  if (bytes.byteLength !== length * 4) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Float32Array.from({ length }, (_, at) => view.getFloat32(at * 4, true))
}
