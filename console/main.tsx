import { render } from 'preact';
import { App } from './app.tsx';
import './style.css';
import 'uplot/dist/uPlot.min.css';
import { keepCurrent } from './state/registry.ts';
import { followRoute } from './state/route.ts';

const root = document.getElementById('app');
if (root !== null) {
  followRoute();
  keepCurrent();
  root.replaceChildren();
  render(<App />, root);
}
