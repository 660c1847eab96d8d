import { isSvcError, type Ref } from '@svc/plugin-sdk'

/** Returns the service of the serving generation; undefined if no plugin provides it. */
export function provided<A>(service: Ref<A> | undefined): A | undefined {
  try {
    return service?.current
  } catch (error) {
    if (isSvcError(error, 'KRN_SERVICE_GONE')) return undefined
    throw error
  }
}
