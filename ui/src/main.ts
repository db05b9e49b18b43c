import { mount } from 'svelte';
import './styles/tokens.css';
import './app.css';
import './styles/controls.css';
import './styles/surfaces.css';
import App from './App.svelte';
import { key } from './lib/key';
import { live } from './lib/live.svelte';

key.start();
const target = document.getElementById('app');
if (target) mount(App, { target });
live.start();
