export default {
  service: {
    input: 'openapi.json',
    output: {
      mode: 'split',
      target: 'orval/api.ts',
      client: 'react-query',
      httpClient: 'fetch',
      override: {
        // What sends decides what an error is, and reads bytes.
        mutator: { path: 'orval-send.ts', name: 'send', extension: '.ts' },
        query: { version: 5 },
        fetch: { includeHttpResponseReturnType: false },
      },
    },
  },
};
