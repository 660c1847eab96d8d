import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type ConfigSources, readSources, type SourceOptions } from '@svc/config'
import { type JsonSchema, t as schema } from '@svc/plugin-sdk'
import { type ConfigurablePlugin, type ResolvedConfig, resolveConfig } from '#host'

/** Project folder with files, and readers that ignore the configuration of this machine. */
export interface Project {
  readonly root: string
  path(name: string): string
  read(options?: Partial<SourceOptions>): ConfigSources
  resolve(plugins: readonly ConfigurablePlugin[], options?: Partial<SourceOptions>): ResolvedConfig
}

/** Part of a test that helpers use. */
export interface TestLike {
  teardown(undo: () => void): unknown
}

export function project(test: TestLike, files: Readonly<Record<string, string>> = {}): Project {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-config-')))
  test.teardown(() => rmSync(root, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  const read = (options: Partial<SourceOptions> = {}): ConfigSources =>
    readSources({
      cwd: root,
      env: { HOME: join(root, 'home') },
      defaultsFile: join(root, 'install/defaults.toml'),
      profilesDirectory: join(root, 'install/profiles'),
      ...options
    })
  return {
    root,
    path: name => join(root, name),
    read,
    resolve: (plugins, options) => resolveConfig(read(options), plugins)
  }
}

export function plugin(name: string, config: JsonSchema, more: Partial<ConfigurablePlugin> = {}): ConfigurablePlugin {
  return { name, config, provides: [], enabledByDefault: true, ...more }
}

/** Plugin with one setting of each kind. */
export const web = plugin(
  'web',
  schema.object({
    host: schema.string({ default: '127.0.0.1', 'x-env': 'SVC_WEB_HOST', description: 'Address to listen on.' }),
    port: schema.integer({ default: 3847, minimum: 1, maximum: 65535, 'x-env': ['SVC_WEB_PORT', 'SVC_OLD_WEB_PORT'] }),
    ratio: schema.number({ default: 0.5, 'x-env': 'SVC_WEB_RATIO', 'x-reload': 'live' }),
    strict: schema.boolean({ default: true, 'x-env': 'SVC_WEB_STRICT', 'x-env-type': 'strict' }),
    loose: schema.boolean({ default: false, 'x-env': 'SVC_WEB_LOOSE', 'x-env-type': 'truthy' }),
    mode: schema.enum(['fast', 'safe'], { default: 'safe', 'x-env': 'SVC_WEB_MODE', 'x-reload': 'restart' }),
    tags: schema.array(schema.string(), { default: [], 'x-env': 'SVC_WEB_TAGS' }),
    weights: schema.record(schema.number(), { default: {}, 'x-env': 'SVC_WEB_WEIGHTS' }),
    base: schema.optional(schema.string({ 'x-env': 'SVC_WEB_BASE', 'x-env-empty': 'clear' })),
    token: schema.optional(schema.secret({ minLength: 8, 'x-env': 'SVC_WEB_TOKEN' })),
    tls: schema.object({ verify: schema.boolean({ default: true }), file: schema.optional(schema.string()) })
  })
)
