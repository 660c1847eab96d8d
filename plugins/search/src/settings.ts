import { type Infer, t } from '@svc/plugin-sdk'

const live = { 'x-reload': 'live' } as const

const weight = (value: number, description: string, variable?: string) =>
  t.number({
    default: value,
    ...(variable === undefined ? {} : { 'x-env': variable }),
    ...live,
    description: `${description} From 0 to 1; other values are clamped.`
  })

const count = (value: number, maximum: number, description: string, variable?: string) =>
  t.integer({
    default: value,
    minimum: 1,
    maximum,
    ...(variable === undefined ? {} : { 'x-env': variable }),
    ...live,
    description
  })

const url = (variable: string, description: string) =>
  t.optional(t.string({ pattern: '^https?://[^\\s/?#]', maxLength: 2_000, 'x-env': variable, ...live, description }))

export const settings = t.object({
  policy_version: t.integer({
    default: 1,
    'x-env': 'SVC_SEARCH_POLICY_VERSION',
    ...live,
    description: 'Label of the scoring policy, copied into search_diagnostics.'
  }),
  memory_vector_weight: weight(
    0.55,
    'Weight of the vector score of memories that words and vectors both find.',
    'SVC_SEARCH_MEMORY_VECTOR_WEIGHT'
  ),
  chunk_vector_weight: weight(0.7, 'Weight of the vector score of passages; the rest is that of the words.'),
  score_both_legs: t.boolean({
    default: true,
    ...live,
    description:
      'Compute the vector score of passages that only words find, and count 0 for the words of those that only vectors find. Off: such passages keep the score of the one that finds them.'
  }),
  verification_quality_threshold: weight(
    0.55,
    'Quality of evidence below which a second search runs.',
    'SVC_SEARCH_VERIFICATION_QUALITY_THRESHOLD'
  ),
  max_hops: t.integer({
    default: 3,
    minimum: 0,
    maximum: 3,
    ...live,
    description: 'Maximum corrective searches, with up to 3 queries each, if the second search is weak, too.'
  }),
  prefer_rrf: t.boolean({
    default: false,
    'x-env': 'SVC_SEARCH_PREFER_RRF',
    ...live,
    description: 'Whether results have a list of all corpora, ranked by reciprocal rank fusion.'
  }),
  rrf_k: t.number({
    default: 60,
    minimum: 1,
    maximum: 500,
    ...live,
    description: 'Constant k of reciprocal rank fusion, which adds 1/(k + rank).'
  }),
  bm25_k1: t.number({
    default: 1.2,
    minimum: 0.1,
    maximum: 3,
    ...live,
    description: 'Parameter k1 of BM25: the effect of repeated words.'
  }),
  bm25_b: t.number({
    default: 0.75,
    minimum: 0,
    maximum: 1,
    ...live,
    description: 'Parameter b of BM25: the effect of the length of a text.'
  }),
  repo_max_files: t.integer({
    default: 20_000,
    minimum: 0,
    maximum: 1_000_000,
    'x-env': 'SVC_SEARCH_REPO_MAX_FILES',
    ...live,
    description: 'Maximum files in the inventory of the project. Values below 100 count as 100.'
  }),
  repo_skip_dirs: t.array(t.string({ minLength: 1, maxLength: 200 }), {
    default: ['.git', 'target', 'node_modules', '.next', '.vox', 'dist', 'build'],
    maxItems: 200,
    'x-env': 'SVC_SEARCH_REPO_SKIP_DIRS',
    ...live,
    description: 'Names of folders that the inventory skips. A non-empty list replaces the default.'
  }),
  live_files: t.integer({
    default: 5_000,
    minimum: 0,
    maximum: 100_000,
    ...live,
    description: 'Maximum files of the project that one search reads while they are not in the index; 0: none.'
  }),
  index_watch: t.boolean({
    default: true,
    description: 'Whether a serving process updates the index when files change, once svc search index has made it.'
  }),
  index_skip_sources: t.array(t.string({ minLength: 1, maxLength: 64 }), {
    default: [],
    maxItems: 100,
    ...live,
    description: 'Names of sources that are not indexed, such as sessions. Their documents leave the index.'
  }),
  index_max_file_bytes: t.integer({
    default: 1_048_576,
    minimum: 1_024,
    maximum: 67_108_864,
    ...live,
    description: 'Maximum size of an indexed file in bytes, except PDF documents.'
  }),
  index_max_pdf_bytes: t.integer({
    default: 33_554_432,
    minimum: 1_024,
    maximum: 268_435_456,
    ...live,
    description: 'Maximum size of an indexed PDF document in bytes.'
  }),
  index_max_pdf_pages: t.integer({
    default: 5_000,
    minimum: 1,
    maximum: 100_000,
    ...live,
    description: 'Maximum pages of an indexed PDF document; one with more is left out.'
  }),
  index_max_vectors: t.integer({
    default: 50_000,
    minimum: 0,
    maximum: 1_000_000,
    ...live,
    description: 'Maximum vectors of passages. They are compared in memory of 4 bytes per number.'
  }),
  index_step_ms: t.integer({
    default: 10_000,
    minimum: 100,
    maximum: 600_000,
    ...live,
    description:
      'Time limit for one file of the index, or one page of a PDF document, in milliseconds. A file that takes longer is left out, and a PDF document that takes 6 times as long.'
  }),
  tier_timeout_ms: t.integer({
    default: 10_000,
    minimum: 1,
    maximum: 120_000,
    ...live,
    description: 'Time limit of one tier in milliseconds. Its hits are then missing, and the result says so.'
  }),
  tantivy_root: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_SEARCH_TANTIVY_ROOT',
      ...live,
      description: 'Folder whose subfolder docs has text files to search. Relative to the project.'
    })
  ),
  embedding_folder: t.optional(
    t.string({
      minLength: 1,
      ...live,
      description: 'Folder of an embedding model, relative to the project. Without it, only words are searched.'
    })
  ),
  embedding_remote: t.boolean({
    default: false,
    ...live,
    description:
      'Whether queries, notes and indexed passages are sent to Hugging Face, OpenAI, OpenRouter or the local model server for vectors, if embedding_folder is not set.'
  }),
  embedding_candidate_multiplier: t.integer({
    default: 10,
    minimum: 1,
    maximum: 50_000,
    'x-env': 'SVC_EMBEDDING_SEARCH_CANDIDATE_MULT',
    ...live,
    description:
      'Stored vectors that a search compares with, as a multiple of its limit; doubled to at most 30 without full-text search.'
  }),
  qdrant_url: url('SVC_SEARCH_QDRANT_URL', 'URL of a Qdrant server. Without it, Qdrant is not searched.'),
  qdrant_collection: t.string({
    default: 'vox_docs',
    minLength: 1,
    maxLength: 255,
    'x-env': 'SVC_SEARCH_QDRANT_COLLECTION',
    ...live,
    description: 'Collection of the Qdrant server.'
  }),
  qdrant_vector_name: t.optional(
    t.string({
      minLength: 1,
      maxLength: 255,
      'x-env': 'SVC_SEARCH_QDRANT_VECTOR_NAME',
      ...live,
      description: 'Name of the vector, if the collection has several.'
    })
  ),
  qdrant_api_key: t.optional(
    t.secret({
      minLength: 1,
      'x-env': 'SVC_SEARCH_QDRANT_API_KEY',
      ...live,
      description: 'Key for the Qdrant server, sent as header api-key.'
    })
  ),
  searxng_url: url('SVC_SEARCH_SEARXNG_URL', 'URL of a SearXNG server. Without it, SearXNG is not searched.'),
  searxng_max_results: count(5, 50, 'Maximum results of SearXNG.', 'SVC_SEARCH_SEARXNG_MAX_RESULTS'),
  searxng_max_scrape: t.integer({
    default: 3,
    minimum: 1,
    maximum: 50,
    'x-env': 'SVC_SEARCH_SEARXNG_MAX_SCRAPE',
    ...live,
    description: 'Maximum results whose pages are read. At most 3 pages are read per search.'
  }),
  searxng_engines: t.string({
    default: 'google,bing,ddg',
    pattern: '^[A-Za-z0-9,_-]{1,256}$',
    'x-env': 'SVC_SEARCH_SEARXNG_ENGINES',
    ...live,
    description: 'Engines of SearXNG, separated by commas.'
  }),
  searxng_language: t.string({
    default: 'en',
    pattern: '^[A-Za-z0-9-]{1,16}$',
    'x-env': 'SVC_SEARCH_SEARXNG_LANGUAGE',
    ...live,
    description: 'Language of the results of SearXNG.'
  }),
  ddg_fallback_disabled: t.boolean({
    default: false,
    ...live,
    description: 'Whether DuckDuckGo is not asked if nothing else was found.'
  }),
  ddg_url: t.string({
    default: 'https://api.duckduckgo.com/',
    pattern: '^https?://[^\\s/?#]',
    ...live,
    description: 'URL of the instant answers of DuckDuckGo.'
  }),
  scraper_timeout_ms: count(5_000, 60_000, 'Time limit of one page in milliseconds.'),
  scraper_min_density: t.number({
    default: 0.15,
    minimum: 0,
    maximum: 1,
    ...live,
    description: 'Least share of text in a page that is read, in characters.'
  }),
  scraper_private: t.boolean({
    default: false,
    ...live,
    description: 'Whether pages on this machine and on private networks are read, if a search server returns them.'
  }),
  tavily_enabled: t.boolean({ default: false, ...live, description: 'Whether Tavily is asked, which costs credits.' }),
  tavily_url: t.string({
    default: 'https://api.tavily.com',
    pattern: '^https?://[^\\s/?#]',
    ...live,
    description: 'URL of Tavily.'
  }),
  tavily_api_key: t.optional(
    t.secret({ minLength: 1, 'x-env': 'TAVILY_API_KEY', ...live, description: 'Key for Tavily.' })
  ),
  tavily_project: t.optional(
    t.string({
      minLength: 1,
      maxLength: 200,
      pattern: '^[\\x21-\\x7e]+$',
      'x-env': 'TAVILY_PROJECT',
      ...live,
      description: 'Project of the key, sent as header x-project-id.'
    })
  ),
  tavily_depth: t.enum(['basic', 'advanced'], {
    default: 'basic',
    ...live,
    description: 'Depth of searches. basic costs 1 credit, advanced 2.'
  }),
  tavily_max_results: count(5, 20, 'Maximum results of Tavily.'),
  tavily_on_empty: t.boolean({
    default: true,
    ...live,
    description: 'Whether Tavily is asked if local tiers found nothing.'
  }),
  tavily_on_weak: t.boolean({
    default: false,
    ...live,
    description: 'Whether Tavily is asked if the quality of local results is below the threshold.'
  }),
  tavily_budget: t.integer({
    default: 50,
    minimum: 0,
    maximum: 1_000_000,
    ...live,
    description: 'Maximum credits that svc spends from its start to its end.'
  })
})

export type Settings = Infer<typeof settings>
