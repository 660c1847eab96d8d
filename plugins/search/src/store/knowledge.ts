import type { SqlValue } from '@svc/contracts'
import type { Library } from './library.ts'

export interface KnowledgeNode {
  /** `NAME:KEY` for a document of a source; stored nodes have no `:`. */
  readonly id: string
  readonly label: string
  readonly content: string
  /** Such as `concept`. */
  readonly node_type: string
  /** In UTC. */
  readonly created_at: string
}

const COLUMNS = "id, label, coalesce(content, '') AS content, node_type, created_at"
const UPSERT = `INSERT INTO knowledge_nodes (id, label, content, node_type) VALUES (:id, :label, :content, :node_type)
  ON CONFLICT (id) DO UPDATE SET label = excluded.label, content = excluded.content, node_type = excluded.node_type`

/** Nodes of the knowledge graph. All methods throw `SRH_DATABASE_MISSING` and the database's errors. */
export class Knowledge {
  readonly #library: Library

  constructor(library: Library) {
    this.#library = library
  }

  /** Stores a node, or replaces the one with the same id. */
  async store(node: Omit<KnowledgeNode, 'created_at'>): Promise<KnowledgeNode> {
    const { id, label, content, node_type } = node
    await this.#library.write([{ sql: UPSERT, parameters: { id, label, content, node_type } }])
    const [row = {}] = await this.#library.rows(`SELECT ${COLUMNS} FROM knowledge_nodes WHERE id = ?`, [id])
    return nodeOf(row)
  }

  /** Returns nodes whose ids begin with `prefix`, by id. */
  async list(prefix: string, limit: number): Promise<readonly KnowledgeNode[]> {
    const rows = await this.#library.rows(
      `SELECT ${COLUMNS} FROM knowledge_nodes WHERE substr(id, 1, length(:prefix)) = :prefix ORDER BY id LIMIT :limit`,
      { prefix, limit }
    )
    return rows.map(nodeOf)
  }

  /** Removes a node with its edges. Returns false if there was none with this id. */
  async forget(id: string): Promise<boolean> {
    const removed = await this.#library.write([{ sql: 'DELETE FROM knowledge_nodes WHERE id = ?', parameters: [id] }])
    await this.#library.write([
      { sql: 'DELETE FROM knowledge_edges WHERE src_id = :id OR dst_id = :id', parameters: { id } }
    ])
    return removed > 0
  }
}

function nodeOf(row: Record<string, SqlValue>): KnowledgeNode {
  const text = (name: string): string => String(row[name] ?? '')
  return {
    id: text('id'),
    label: text('label'),
    content: text('content'),
    node_type: text('node_type'),
    created_at: text('created_at')
  }
}
