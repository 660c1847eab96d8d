import type { DeclaredSecret, SecretMaterial } from '@svc/contracts'

/** A credential of a channel: a secret setting of this plugin, and its declaration for `svc secrets`. */
export interface ChannelSecret {
  /** Name of the setting, such as `reddit_client_id`. */
  readonly setting: string
  readonly declared: DeclaredSecret
}

export interface ChannelSecretOptions {
  /** Id for `svc secrets`, such as `reddit.client_id`. Default: `news.SETTING`. */
  readonly id?: string
  /** Service that it belongs to, such as `Reddit`. */
  readonly service: string
  /** Description, such as `client id of the application`. */
  readonly what: string
  readonly material?: SecretMaterial
  /** Whether strict profiles accept it only from a backend, such as a vault. */
  readonly backendOnly?: boolean
}

/** Declares a credential. The keyring and the auth file have it under the name of the setting. */
export function channelSecret(setting: string, env: string, options: ChannelSecretOptions): ChannelSecret {
  const { id = `news.${setting}`, service, what, material = 'token', backendOnly = false } = options
  return {
    setting,
    declared: {
      id,
      env,
      registry: setting,
      class: 'account',
      material,
      description: `${service}: ${what}, for the channel of the news`,
      remediation: `take it from the account at ${service} and run: svc secrets set ${env}${backendOnly ? ' --store vault' : ''}`,
      capabilities: ['publish'],
      ...(backendOnly ? { environmentInStrict: false, compatInStrict: false } : {})
    }
  }
}
