import { useEffect, useState } from 'preact/hooks'
import { describe } from '../api.ts'
import type { OperationInfo } from '../protocol.ts'
import { consoleState } from '../state.ts'

/** Returns the schemas of an operation; undefined until they are loaded. */
export function useOperation(operation: string): OperationInfo | undefined {
  const [info, setInfo] = useState<OperationInfo>()
  const generation = consoleState.value?.generation
  useEffect(() => {
    let isOpen = true
    describe(operation).then(
      found => isOpen && setInfo(found),
      () => {}
    )
    return () => {
      isOpen = false
    }
  }, [operation, generation])
  return info?.id === operation ? info : undefined
}
