import { type DeclaredSecret, type KernelAdmin, SECRET_CLASSES, SECRET_MATERIALS } from '@svc/contracts'
import { type Logger, t } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import { variablesOf } from './catalog.ts'

const variable = t.string({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 128 })
const variables = t.optional(t.array(variable, { maxItems: 32 }))
/** Without control characters: `svc secrets doctor` prints texts to a terminal, one a line. */
const text = t.string({ minLength: 1, maxLength: 1_000, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$' })
const flag = t.optional(t.boolean())

/** Form of a declaration of an isolated plugin, which can send any data. */
const declaration = t.object({
  id: t.string({ pattern: '^[a-z0-9][a-z0-9._-]*$', maxLength: 128 }),
  env: variable,
  aliases: variables,
  deprecatedAliases: variables,
  backendKey: t.optional(text),
  registry: t.optional(text),
  policy: t.optional(t.enum(['required', 'optional'])),
  remediation: text,
  description: text,
  class: t.optional(t.enum([...SECRET_CLASSES])),
  material: t.optional(t.enum([...SECRET_MATERIALS])),
  capabilities: t.optional(t.array(text, { maxItems: 32 })),
  ...{ persistable: flag, shareable: flag, deviceLocalOnly: flag, environmentInStrict: flag, compatInStrict: flag },
  rotationDays: t.optional(t.integer({ minimum: 1 }))
})
const check = schemaCheck(declaration)

interface Declared {
  readonly secret: DeclaredSecret
  readonly plugin: string
}

/**
 * Secrets that plugins declare. An isolated plugin needs the permission `secrets` for each name that is not its own:
 * a declaration replaces what svc knows about a variable, and with it the rules of strict profiles, and its backend key
 * and registry select the value.
 */
export class Declarations {
  readonly #admin: KernelAdmin | undefined
  readonly #log: Logger
  #declared: readonly Declared[] = []
  #accepted: readonly DeclaredSecret[] | null = null

  constructor(admin: KernelAdmin | undefined, log: Logger) {
    this.#admin = admin
    this.#log = log
  }

  /** `plugins`: names of the plugins that declared the secrets, in the same order. */
  replace(secrets: readonly DeclaredSecret[], plugins: readonly string[]): void {
    this.#declared = secrets.map((secret, index) => ({ secret, plugin: plugins[index] ?? '' }))
    this.#accepted = null
  }

  /** Returns the accepted declarations. Logs a refused one once. */
  accepted(): readonly DeclaredSecret[] {
    // Not in `replace`: during a flip, permissions are still those of the earlier generation.
    this.#accepted ??= this.#declared.filter(each => this.#isAccepted(each)).map(({ secret }) => secret)
    return this.#accepted
  }

  #isAccepted({ secret, plugin }: Declared): boolean {
    const permissions = this.#admin?.permissions(plugin).effective ?? null
    // A plugin in the process of svc can do everything.
    if (permissions === null) return true
    const refuse = (why: string, hint: string): boolean => {
      this.#log.warn(`refused a secret that the plugin ${plugin} declares: ${why}; ${hint}`)
      return false
    }
    const result = check(secret)
    if (!result.ok) return refuse(`the declaration is not valid: ${result.text}`, 'correct the plugin')
    const allowed = permissions.secrets ?? []
    const isOwn = (name: string): boolean =>
      name === plugin || name.startsWith(`${plugin}.`) || name.startsWith(`${plugin}/`)
    const names = [secret.id, secret.registry, secret.backendKey].filter(name => name !== undefined)
    const missing = [...variablesOf(secret), ...names.filter(name => !isOwn(name))].filter(
      name => !allowed.includes(name)
    )
    if (missing.length === 0) return true
    return refuse(
      `its permission secrets does not include ${missing.join(', ')}`,
      `add it to permissions.secrets of the plugin, or of [plugins.${plugin}] in svc.toml`
    )
  }
}
