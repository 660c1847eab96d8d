/** Identity and major version of a service, for example `inference.engine@1`. */
export type ServiceId = `${string}@${number}`

/**
 * A typed token for a service that one plugin provides and others use.
 *
 * The type is a phantom: at run time a token is its id, so tokens from two copies of a package are equal.
 */
export interface Service<A = unknown> {
  readonly kind: 'service'
  readonly id: ServiceId
  readonly '~type'?: A
}

export function service<A>(id: ServiceId): Service<A> {
  return { kind: 'service', id }
}

/** Live reference to a service: reads the value of the current generation. */
export interface Ref<A> {
  /** Throws `KRN_SERVICE_GONE` while nothing provides the service. */
  readonly current: A
  /** Undefined while nothing provides the service. Other errors are thrown. */
  readonly available: A | undefined
}

/** A dependency that is looked up on every use, so its holder is not rebuilt when the provider is replaced. */
export interface ServiceRef<A = unknown> {
  readonly kind: 'ref'
  readonly id: ServiceId
  readonly '~type'?: A
}

export function ref<A>(token: Service<A>): ServiceRef<A> {
  return { kind: 'ref', id: token.id }
}

export type Dependency = Service<any> | ServiceRef<any>
export type Dependencies = Readonly<Record<string, Dependency>>

type ValueOf<D> = D extends Service<infer A> ? A : D extends ServiceRef<infer A> ? Ref<A> : never

/** Input of `activate` for its declared dependencies. */
export type Resolved<R extends Dependencies, O extends Dependencies> = {
  readonly [K in keyof R]: ValueOf<R[K]>
} & { readonly [K in keyof O]: ValueOf<O[K]> | undefined }
