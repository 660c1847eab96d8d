import type { ComponentChild } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ErrorNotice, Loading } from './parts.tsx'

type Component<P> = (props: P) => ComponentChild

/** Returns a component whose code is loaded when it is first drawn. */
export function lazy<P extends object>(load: () => Promise<Component<P>>): Component<P> {
  let loaded: Component<P> | undefined
  return function Lazy(props: P) {
    const [failure, setFailure] = useState<Error | null>(null)
    const [, setLoaded] = useState(loaded !== undefined)
    useEffect(() => {
      if (loaded !== undefined) return
      load().then(
        component => {
          loaded = component
          setLoaded(true)
        },
        thrown => setFailure(thrown as Error)
      )
    }, [])
    if (failure !== null) return <ErrorNotice error={failure} retry={() => location.reload()} />
    if (loaded === undefined) return <Loading lines={2} />
    const Loaded = loaded
    return <Loaded {...props} />
  }
}
