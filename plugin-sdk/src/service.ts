/** Identity and major version of a service, for example `inference.engine@1`. */
export type ServiceId = `${string}@${number}`

/**
 * Typed token for a service that one plugin provides and others use.
 *
 * `A` is a phantom type. At run time only the id counts, so tokens from two copies of a package are equal.
 */
export interface Service<A = unknown> {
  readonly kind: 'service'
  readonly id: ServiceId
  readonly '~type'?: A
}

export function service<A>(id: ServiceId): Service<A> {
  return { kind: 'service', id }
}

/** Live reference to a service: each access reads the service of the current generation. */
export interface Ref<A> {
  /** The service. Throws `KRN_SERVICE_GONE` if no active plugin provides it. */
  readonly current: A
  /** The service, or undefined if no active plugin provides it. Throws other errors. */
  readonly available: A | undefined
}

/** Dependency that is looked up on each use, so that replacing the provider does not replace the user. */
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

/** Services that `activate` receives for the declared dependencies. */
export type Resolved<R extends Dependencies, O extends Dependencies> = {
  readonly [K in keyof R]: ValueOf<R[K]>
} & { readonly [K in keyof O]: ValueOf<O[K]> | undefined }
