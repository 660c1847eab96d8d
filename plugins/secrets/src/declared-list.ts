import type { DeclaredSecret } from '@svc/contracts'

/** Declared secret with the plugin that uses it; absent if more than one does. */
export type ListedSecret = DeclaredSecret & { readonly plugin?: string }

const apiKey = (id: string, env: string, of: string, more: Partial<ListedSecret> = {}): ListedSecret => ({
  id: `${id}.api_key`,
  env,
  registry: id,
  class: 'integration',
  material: 'api_key',
  description: `Access to ${of}`,
  remediation: `create a key at ${of} and run: svc secrets set ${env}`,
  ...more
})

const meshToken = (name: string, env: string, of: string): ListedSecret => ({
  id: `mesh.${name}`,
  env,
  class: 'transport',
  description: of,
  remediation: 'svc mesh up creates the tokens of a mesh; svc secrets sync --mesh shares stored ones',
  capabilities: ['mens-mesh'],
  shareable: true,
  plugin: 'mesh'
})

const forge = (id: string, env: string, more: Partial<ListedSecret> = {}): ListedSecret => ({
  id,
  env,
  class: 'account',
  description: 'Repositories, releases and reviews of a forge',
  remediation: `create a token at the forge and run: svc secrets set ${env}`,
  capabilities: ['publish', 'review'],
  ...more
})

/** Secrets that strict profiles accept only from a backend. */
const backendOnly = { environmentInStrict: false, compatInStrict: false } as const

const account = (id: string, env: string, material: DeclaredSecret['material'], of: string): ListedSecret => ({
  id,
  env,
  class: 'account',
  material: material ?? 'token',
  description: `Account at ${of}`,
  remediation: `take it from the account at ${of} and run: svc secrets set ${env}`,
  capabilities: ['publish']
})

const strictAccount = (id: string, env: string, material: DeclaredSecret['material'], of: string): ListedSecret => ({
  ...account(id, env, material, of),
  remediation: `take it from the account at ${of} and run: svc secrets set ${env} --store vault`,
  ...backendOnly
})

/**
 * Secrets of the services that svc knows. Plugins declare more; of two declarations of one variable, that of the plugin
 * is used.
 */
export const KNOWN_SECRETS: readonly ListedSecret[] = [
  apiKey('openrouter', 'OPENROUTER_API_KEY', 'openrouter.ai', { capabilities: ['chat', 'mcp'] }),
  apiKey('openai', 'OPENAI_API_KEY', 'platform.openai.com'),
  apiKey('anthropic', 'ANTHROPIC_API_KEY', 'console.anthropic.com'),
  apiKey('gemini', 'GEMINI_API_KEY', 'aistudio.google.com', { aliases: ['GOOGLE_API_KEY'] }),
  apiKey('groq', 'GROQ_API_KEY', 'console.groq.com'),
  apiKey('mistral', 'MISTRAL_API_KEY', 'console.mistral.ai'),
  apiKey('huggingface', 'HF_TOKEN', 'huggingface.co', {
    id: 'huggingface.token',
    material: 'token',
    aliases: ['HUGGING_FACE_HUB_TOKEN']
  }),
  apiKey('runpod', 'RUNPOD_API_KEY', 'runpod.io', { capabilities: ['gpu_cloud'] }),
  apiKey('vast', 'VAST_API_KEY', 'vast.ai', { capabilities: ['gpu_cloud'] }),
  apiKey('lambda', 'LAMBDA_API_KEY', 'lambda.ai', { capabilities: ['gpu_cloud'] }),
  apiKey('tavily', 'TAVILY_API_KEY', 'tavily.com'),
  forge('forge.token', 'VOX_FORGE_TOKEN', { registry: 'forge', deprecatedAliases: ['GH_TOKEN', 'GL_TOKEN'] }),
  forge('forge.github_token', 'GITHUB_TOKEN', { registry: 'github' }),
  forge('forge.gitlab_token', 'GITLAB_TOKEN', { registry: 'gitlab' }),
  {
    id: 'packages.token',
    env: 'VOX_REGISTRY_TOKEN',
    registry: 'packages',
    class: 'account',
    description: 'Package registry',
    remediation: 'run: svc secrets login packages'
  },
  {
    id: 'database.url',
    env: 'SVC_DB_URL',
    class: 'runtime',
    material: 'url',
    description: 'Remote primary database',
    remediation: 'set SVC_DB_URL, or plugins.database.url',
    deprecatedAliases: ['SVC_SQL_URL', 'LEGACY_SQL_URL'],
    capabilities: ['db-remote'],
    plugin: 'database'
  },
  {
    id: 'database.token',
    env: 'SVC_DB_TOKEN',
    class: 'runtime',
    description: 'Remote primary database',
    deprecatedAliases: ['SVC_SQL_TOKEN', 'LEGACY_SQL_AUTH_TOKEN'],
    remediation: 'set SVC_DB_TOKEN, or plugins.database.token = "secret://auto/SVC_DB_TOKEN"',
    capabilities: ['db-remote'],
    plugin: 'database'
  },
  meshToken('token', 'SVC_MESH_TOKEN', 'All rights in a mesh'),
  meshToken('worker_token', 'SVC_MESH_WORKER_TOKEN', 'Rights of workers of a mesh'),
  meshToken('submitter_token', 'SVC_MESH_SUBMITTER_TOKEN', 'Right to submit work to a mesh'),
  meshToken('admin_token', 'SVC_MESH_ADMIN_TOKEN', 'Administration of a mesh'),
  {
    ...meshToken('jwt_secret', 'SVC_MESH_JWT_HMAC_SECRET', 'Signatures of tokens of a mesh'),
    material: 'signing_key',
    plugin: 'mesh-control',
    capabilities: []
  },
  {
    ...meshToken('scope_id', 'SVC_MESH_SCOPE_ID', 'Scope of a mesh'),
    material: 'other',
    capabilities: []
  },
  {
    id: 'webhook.signing_key',
    env: 'SVC_WEBHOOK_SIGNING_KEY',
    class: 'transport',
    material: 'signing_key',
    description: 'Signatures of received webhooks',
    remediation: 'run: svc secrets set SVC_WEBHOOK_SIGNING_KEY --store vault',
    ...backendOnly
  },
  strictAccount('openreview.token', 'SVC_OPENREVIEW_ACCESS_TOKEN', 'token', 'openreview.net'),
  strictAccount('openreview.email', 'SVC_OPENREVIEW_EMAIL', 'email', 'openreview.net'),
  strictAccount('openreview.password', 'SVC_OPENREVIEW_PASSWORD', 'password', 'openreview.net'),
  strictAccount('reddit.client_id', 'SVC_SOCIAL_REDDIT_CLIENT_ID', 'client_id', 'reddit.com'),
  strictAccount('reddit.client_secret', 'SVC_SOCIAL_REDDIT_CLIENT_SECRET', 'password', 'reddit.com'),
  strictAccount('reddit.refresh_token', 'SVC_SOCIAL_REDDIT_REFRESH_TOKEN', 'token', 'reddit.com'),
  strictAccount('reddit.user_agent', 'SVC_SOCIAL_REDDIT_USER_AGENT', 'user_agent', 'reddit.com'),
  account('youtube.client_id', 'SVC_SOCIAL_YOUTUBE_CLIENT_ID', 'client_id', 'youtube.com'),
  account('youtube.client_secret', 'SVC_SOCIAL_YOUTUBE_CLIENT_SECRET', 'password', 'youtube.com'),
  account('youtube.refresh_token', 'SVC_SOCIAL_YOUTUBE_REFRESH_TOKEN', 'token', 'youtube.com')
]
