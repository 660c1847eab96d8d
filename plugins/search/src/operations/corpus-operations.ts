import { readProjectFile, type SearchCorpus, type SearchService } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import { queryTerms } from '../plan/words.ts'
import type { Bm25 } from '../score/scores.ts'
import type { Settings } from '../settings.ts'
import type { RepoInventory } from '../tiers/repo-inventory.ts'
import { searchFiles } from '../tiers/repo-text.ts'

const { SRH_QUERY_INVALID, SRH_FILE_UNREADABLE } = searchErrors.specs

const query = t.string({ minLength: 1, maxLength: 4_000, description: 'Words, or a question.' })
const limit = t.integer({ default: 8, minimum: 1, maximum: 100, description: 'Maximum results.' })
/** Bytes of a file that are read. */
const MAX_FILE_BYTES = 4_194_304
const MAX_LINES = 2_000

const found = t.object({
  lines: t.array(t.string(), { description: 'Results in printable form.' }),
  hits: t.array(t.object({ key: t.string(), title: t.string(), text: t.string(), score: t.number() }))
})

export const searchMemories = defineOperation({
  id: 'memory.search',
  summary: 'Search stored notes by words and by meaning',
  input: t.object({ query, limit }),
  output: found,
  errors: { SRH_QUERY_INVALID },
  effect: 'read',
  expose: {
    http: { method: 'POST', path: '/api/memory/search' },
    mcp: {
      name: 'svc_memory_search',
      lane: 'data',
      toolsets: ['search'],
      use: 'Before you decide something that an earlier session may have decided. Everything at once: svc_search.'
    },
    rpc: true,
    cli: { command: 'memory search', args: ['query'], view: { rows: 'hits', columns: ['score', 'key', 'title'] } }
  }
})

export const queryKnowledge = defineOperation({
  id: 'knowledge.query',
  summary: 'Search the nodes of the knowledge graph',
  input: t.object({ query, limit }),
  output: found,
  errors: { SRH_QUERY_INVALID },
  effect: 'read',
  expose: {
    http: { method: 'POST', path: '/api/knowledge/query' },
    mcp: {
      name: 'svc_knowledge_query',
      lane: 'data',
      toolsets: ['search'],
      use: 'For concepts and their definitions. Notes of sessions: svc_memory_search.'
    },
    rpc: true,
    cli: { command: 'search knowledge', args: ['query'], view: { rows: 'hits', columns: ['score', 'key', 'title'] } }
  }
})

export const queryRepoText = defineOperation({
  id: 'repo.query_text',
  summary: 'Find passages of the project’s files by words',
  input: t.object({ query, limit }),
  output: t.object({
    hits: t.array(t.object({ path: t.string(), line: t.integer(), text: t.string(), score: t.number() })),
    files_read: t.integer(),
    truncated: t.boolean({ description: 'Whether a limit prevented reading more files.' })
  }),
  errors: { SRH_QUERY_INVALID },
  effect: 'read',
  concurrency: 2,
  expose: {
    http: { method: 'POST', path: '/api/repo/text' },
    mcp: {
      name: 'svc_repo_query_text',
      lane: 'app',
      readRole: true,
      toolsets: ['search'],
      use: 'For code by what it is about. The files are read now, so unsaved indexes do not matter; for a path, use svc_repo_query_file.'
    },
    rpc: true,
    cli: { command: 'search text', args: ['query'], view: { rows: 'hits', columns: ['score', 'path', 'line'] } }
  }
})

export const queryRepoFile = defineOperation({
  id: 'repo.query_file',
  summary: 'Find files by their path, or read lines of one file',
  input: t.object({
    path: t.string({
      minLength: 1,
      maxLength: 4_000,
      description: 'Path of a file to read, or words of paths to find.'
    }),
    start: t.integer({ default: 1, minimum: 1, description: 'First line to read, from 1.' }),
    lines: t.integer({ default: 200, minimum: 1, maximum: MAX_LINES, description: 'Maximum lines to read.' }),
    limit
  }),
  output: t.object({
    path: t.nullable(t.string(), { description: 'The file that was read; null if no file has this path.' }),
    text: t.string({ description: 'The lines; empty if no file has this path.' }),
    total_lines: t.integer(),
    truncated: t.boolean({ description: 'Whether the file has further lines.' }),
    matches: t.array(t.object({ path: t.string(), score: t.number() }), {
      description: 'Files with similar paths, if no file has this path.'
    })
  }),
  errors: { SRH_FILE_UNREADABLE },
  effect: 'read',
  expose: {
    http: { method: 'POST', path: '/api/repo/file' },
    mcp: {
      name: 'svc_repo_query_file',
      lane: 'app',
      readRole: true,
      toolsets: ['search'],
      use: 'For a file whose name you know or can guess. Files that may contain secrets are refused.'
    },
    rpc: true,
    cli: { command: 'search file', args: ['path'], view: { rows: 'matches', columns: ['score', 'path'], note: 'text' } }
  }
})

/** Handler for a search of one corpus. */
export const corpusHandler =
  (service: SearchService, corpus: SearchCorpus): Handler<typeof searchMemories> & Handler<typeof queryKnowledge> =>
  async ({ query, limit }, { signal }) => {
    const { hits } = await service.query({ query, limit, corpora: [corpus], mode: 'hybrid', verify: false }, signal)
    return {
      lines: hits.map(({ textLine }) => textLine),
      hits: hits.map(({ key, title, text, score }) => ({ key, title, text, score }))
    }
  }

interface RepoParts {
  readonly projectRoot: string
  readonly inventory: RepoInventory
  readonly settings: () => Settings
  readonly bm25: () => Bm25
}

export const repoTextHandler =
  ({ projectRoot, settings, bm25 }: RepoParts): Handler<typeof queryRepoText> =>
  async ({ query, limit }, { signal }) => {
    const terms = queryTerms(query)
    if (terms.length === 0)
      throw searchErrors.create('SRH_QUERY_INVALID', 'the query has only words that are in most texts', {
        hint: 'add a name or a rarer word'
      })
    const files = settings().repo_max_files
    const { hits, filesRead, truncated } = await searchFiles(projectRoot, terms, { files, limit }, bm25(), signal)
    return {
      hits: hits.map(({ title = '', line = 1, text, score }) => ({ path: title, line, text, score })),
      files_read: filesRead,
      truncated
    }
  }

export const repoFileHandler =
  ({ projectRoot, inventory }: RepoParts): Handler<typeof queryRepoFile> =>
  async ({ path, start, lines, limit }, { signal }) => {
    const read = await readProjectFile(projectRoot, path, MAX_FILE_BYTES)
    if ('text' in read) {
      const all = read.text.split('\n')
      const shown = all.slice(start - 1, start - 1 + lines)
      return {
        path: read.path,
        text: shown.join('\n'),
        total_lines: all.length,
        truncated: read.truncated || start - 1 + lines < all.length,
        matches: []
      }
    }
    const matches = await inventory.search(path, limit, signal)
    if (matches.length === 0)
      throw searchErrors.create('SRH_FILE_UNREADABLE', `${path}: ${read.refused}`, {
        hint: 'use a path relative to the project, or words of it'
      })
    return {
      path: null,
      text: '',
      total_lines: 0,
      truncated: false,
      matches: matches.map(({ key, score }) => ({ path: key, score }))
    }
  }
