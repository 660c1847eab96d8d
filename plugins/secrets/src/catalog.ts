import { type DeclaredSecret, secretErrors } from '@svc/contracts'
import { closest, type SettingReport } from '@svc/plugin-sdk'
import { KNOWN_SECRETS, type ListedSecret } from './declared-list.ts'

/** All declared secrets: those of plugins, those that svc knows, and secret settings with an environment variable. */
export class SecretCatalog {
  readonly secrets: readonly ListedSecret[]

  constructor(declared: readonly DeclaredSecret[], settings: readonly SettingReport[]) {
    const all: ListedSecret[] = []
    const names = new Set<string>()
    const add = (secret: ListedSecret): void => {
      const own = [secret.id, ...variablesOf(secret)]
      if (own.some(name => names.has(name))) return
      for (const name of own) names.add(name)
      all.push(secret)
    }
    for (const secret of [...declared, ...KNOWN_SECRETS, ...settings.flatMap(ofSetting)]) add(secret)
    this.secrets = all.sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** Returns the secret of an id, a variable or a registry; undefined if none is declared. */
  find(name: string): ListedSecret | undefined {
    return (
      this.secrets.find(({ id }) => id === name) ??
      this.secrets.find(secret => variablesOf(secret).includes(name)) ??
      this.secrets.find(({ registry }) => registry === name)
    )
  }

  /** Like `find`. Throws `SEC_UNDECLARED`. */
  get(name: string): ListedSecret {
    const found = this.find(name)
    if (found !== undefined) return found
    const near = closest(
      name,
      this.secrets.flatMap(secret => [secret.id, secret.env])
    )
    throw secretErrors.create('SEC_UNDECLARED', `no plugin declares a secret ${name}`, {
      hint: near === undefined ? 'svc secrets status lists the declared secrets' : `did you mean ${near}?`
    })
  }
}

export function variablesOf({ env, aliases = [], deprecatedAliases = [] }: DeclaredSecret): string[] {
  return [env, ...aliases, ...deprecatedAliases]
}

/** Returns the declaration of a secret setting. `SVC_PLUGINS_…` names are not used as canonical ones if there is another. */
function ofSetting({ key, plugin, env, secret, description }: SettingReport): ListedSecret[] {
  const [canonical, ...aliases] = env
  if (!secret || canonical === undefined) return []
  const remediation = `set ${canonical}, or ${key} = "secret://auto/${canonical}"`
  return [{ id: key, env: canonical, aliases, description, remediation, plugin }]
}
