/** Knowledge, documents with their search indexes, and the change log. */
export const knowledgeTables = `
CREATE TABLE IF NOT EXISTS knowledge_nodes (
  id TEXT PRIMARY KEY,
  label TEXT NOT NULL,
  content TEXT,
  node_type TEXT NOT NULL DEFAULT 'concept',
  media_url TEXT,
  media_type TEXT,
  metadata TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS knowledge_edges (
  src_id TEXT NOT NULL,
  dst_id TEXT NOT NULL,
  relation TEXT NOT NULL,
  weight REAL NOT NULL DEFAULT 1.0,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  PRIMARY KEY (src_id, dst_id, relation)
);
CREATE INDEX IF NOT EXISTS knowledge_edges_from ON knowledge_edges (src_id);
CREATE INDEX IF NOT EXISTS knowledge_edges_to ON knowledge_edges (dst_id);
CREATE TABLE IF NOT EXISTS snippets (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  language TEXT NOT NULL,
  title TEXT NOT NULL,
  code TEXT NOT NULL,
  description TEXT,
  tags TEXT,
  author_id TEXT,
  source_ref TEXT,
  embedding_ref TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS embeddings (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_type TEXT NOT NULL,
  source_id TEXT NOT NULL,
  dim INTEGER NOT NULL,
  vector BLOB NOT NULL,
  metadata TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX IF NOT EXISTS embeddings_source ON embeddings (source_type, source_id);
CREATE TABLE IF NOT EXISTS search_documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_uri TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL DEFAULT '',
  mime_type TEXT NOT NULL DEFAULT '',
  content_hash TEXT NOT NULL DEFAULT '',
  ingested_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX IF NOT EXISTS search_documents_hash ON search_documents (content_hash);
CREATE TABLE IF NOT EXISTS search_document_chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  document_id INTEGER NOT NULL REFERENCES search_documents (id) ON DELETE CASCADE,
  chunk_index INTEGER NOT NULL,
  body_text TEXT NOT NULL,
  embedding_ref TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  UNIQUE (document_id, chunk_index)
);
CREATE TABLE IF NOT EXISTS search_indexing_jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_kind TEXT NOT NULL,
  target_uri TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'queued',
  detail_json TEXT,
  error_text TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  updated_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS codex_change_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  topic TEXT NOT NULL,
  entity_kind TEXT,
  entity_id TEXT,
  change_kind TEXT NOT NULL,
  payload_json TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX IF NOT EXISTS codex_change_log_topic ON codex_change_log (topic, id);
CREATE TABLE IF NOT EXISTS codex_query_snapshots (
  name TEXT PRIMARY KEY,
  snapshot_json TEXT NOT NULL,
  updated_at TEXT NOT NULL DEFAULT (datetime('now'))
);
`

/**
 * Search indexes for engines with FTS5; other engines scan the text columns. Nodes are joined by id: VACUUM may
 * renumber the rows of a table without an integer key.
 */
export const fullTextTables = `
CREATE VIRTUAL TABLE IF NOT EXISTS knowledge_nodes_fts USING fts5 (id UNINDEXED, label, content);
CREATE TRIGGER IF NOT EXISTS knowledge_nodes_fts_insert AFTER INSERT ON knowledge_nodes BEGIN
  INSERT INTO knowledge_nodes_fts (id, label, content) VALUES (new.id, new.label, new.content);
END;
CREATE TRIGGER IF NOT EXISTS knowledge_nodes_fts_delete AFTER DELETE ON knowledge_nodes BEGIN
  DELETE FROM knowledge_nodes_fts WHERE id = old.id;
END;
CREATE TRIGGER IF NOT EXISTS knowledge_nodes_fts_update AFTER UPDATE ON knowledge_nodes BEGIN
  DELETE FROM knowledge_nodes_fts WHERE id = old.id;
  INSERT INTO knowledge_nodes_fts (id, label, content) VALUES (new.id, new.label, new.content);
END;
CREATE VIRTUAL TABLE IF NOT EXISTS search_document_chunks_fts USING fts5 (body_text);
CREATE TRIGGER IF NOT EXISTS search_document_chunks_fts_insert AFTER INSERT ON search_document_chunks BEGIN
  INSERT INTO search_document_chunks_fts (rowid, body_text) VALUES (new.id, new.body_text);
END;
CREATE TRIGGER IF NOT EXISTS search_document_chunks_fts_delete AFTER DELETE ON search_document_chunks BEGIN
  DELETE FROM search_document_chunks_fts WHERE rowid = old.id;
END;
CREATE TRIGGER IF NOT EXISTS search_document_chunks_fts_update AFTER UPDATE ON search_document_chunks BEGIN
  DELETE FROM search_document_chunks_fts WHERE rowid = old.id;
  INSERT INTO search_document_chunks_fts (rowid, body_text) VALUES (new.id, new.body_text);
END;
`
